/* Finds edges in frames of noise, some of them under way at once, and writes the first result as a picture.
 *
 *     cc edges.c -o edges $(pkg-config --cflags --libs evener) && ./edges edges.pgm
 */
#include <evener.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 320, HEIGHT = 240, STRIDE = WIDTH + 64, FRAMES = 100, UNDER_WAY = 4 };

/* A frame and the memory for its result, both with padding after each row. */
struct picture {
    int number;
    uint8_t input[STRIDE * HEIGHT];
    uint8_t output[STRIDE * HEIGHT];
};

static void check(evener_status status, const char *what) {
    if (status != EVENER_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", what, evener_last_error());
        exit(1);
    }
}

static void draw(struct picture *picture, int number) {
    uint32_t state = 2463534242u + (uint32_t)number;
    picture->number = number;
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            state = state * 1664525u + 1013904223u;
            int inside = (x - 160) * (x - 160) + (y - 120) * (y - 120) < 80 * 80;
            picture->input[y * STRIDE + x] = (uint8_t)((inside ? 200 : 40) + (state >> 29));
        }
    }
}

static int save(const struct picture *picture, const char *name) {
    FILE *file = fopen(name, "wb");
    if (!file) {
        return 0;
    }
    fprintf(file, "P5\n%d %d\n255\n", WIDTH, HEIGHT);
    for (int y = 0; y < HEIGHT; y++) {
        fwrite(picture->output + y * STRIDE, 1, WIDTH, file);
    }
    return fclose(file) == 0;
}

int main(int argc, char **argv) {
    if (evener_abi_version() != EVENER_ABI_VERSION) {
        fprintf(stderr, "this program was compiled for another libevener\n");
        return 1;
    }
    evener_graph *graph = NULL;
    if (evener_graph_new("blur,sobbel", &graph) != EVENER_STATUS_INVALID) {
        return 1;
    }
    printf("a typo: %s\n", evener_last_error());
    check(evener_graph_new("blur,sobel,threshold=0.25", &graph), "the graph");

    evener_format format = {WIDTH, HEIGHT, EVENER_CHROMA_MONO, EVENER_DEPTH_U8, 1};
    evener_stream *stream = NULL;
    check(evener_stream_open(graph, &format, NULL, &stream), "the stream");
    evener_graph_free(graph);

    struct picture *pictures = calloc(UNDER_WAY, sizeof *pictures);
    if (!pictures) {
        return 1;
    }
    for (int number = 0; number < FRAMES + UNDER_WAY; number++) {
        struct picture *picture = &pictures[number % UNDER_WAY];
        if (number >= UNDER_WAY) {
            void *given = NULL;
            check(evener_stream_pull(stream, &given, -1), "a result");
            if (given != picture || picture->number != number - UNDER_WAY) {
                fprintf(stderr, "results are out of order\n");
                return 1;
            }
            if (picture->number == 0 && argc > 1 && !save(picture, argv[1])) {
                perror(argv[1]);
                return 1;
            }
        }
        if (number < FRAMES) {
            draw(picture, number);
            evener_plane input = {picture->input, STRIDE};
            evener_plane output = {picture->output, STRIDE};
            check(evener_stream_push(stream, &input, &output, picture, -1), "a frame");
        }
    }
    if (evener_stream_pull(stream, NULL, 0) != EVENER_STATUS_LATE) {
        fprintf(stderr, "there is a result too many\n");
        return 1;
    }
    check(evener_stream_free(stream), "the end");
    free(pictures);
    printf("%d frames of %dx%d, evener %s\n", FRAMES, WIDTH, HEIGHT, evener_version());
    return 0;
}
