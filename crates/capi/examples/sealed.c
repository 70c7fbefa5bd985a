/* Encrypts a file in memory, writes what `evener decrypt -k KEYFILE OUT` reads, and reads chunks of it one by one.
 *
 *     cc sealed.c -o sealed $(pkg-config --cflags --libs evener)
 *     evener keygen -o KEYFILE && ./sealed KEYFILE IN OUT
 */
#include <evener.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(evener_status status, const char *what) {
    if (status != EVENER_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", what, evener_last_error());
        exit(1);
    }
}

static void *room(size_t len) {
    void *bytes = malloc(len ? len : 1);
    if (!bytes) {
        fprintf(stderr, "there are no %zu bytes\n", len);
        exit(1);
    }
    return bytes;
}

static uint8_t *load(const char *name, size_t *len) {
    FILE *file = fopen(name, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0 || ftell(file) < 0) {
        perror(name);
        exit(1);
    }
    *len = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = room(*len);
    if (fread(bytes, 1, *len, file) != *len) {
        perror(name);
        exit(1);
    }
    fclose(file);
    return bytes;
}

static void save(const char *name, const uint8_t *bytes, size_t len) {
    FILE *file = fopen(name, "wb");
    if (!file || fwrite(bytes, 1, len, file) != len || fclose(file) != 0) {
        perror(name);
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 4 || evener_abi_version() != EVENER_ABI_VERSION) {
        fprintf(stderr, "usage: sealed KEYFILE IN OUT\n");
        return 2;
    }
    evener_workers *workers = NULL;
    check(evener_workers_new(0, &workers), "workers");
    evener_secret *secret = NULL;
    check(evener_secret_load(argv[1], &secret), "the key");

    /* All of it, over all workers. */
    size_t len = 0, size = 0;
    uint8_t *text = load(argv[2], &len);
    check(evener_encrypted_size(secret, len, &size), "the size");
    uint8_t *file = room(size);
    check(evener_encrypt(workers, secret, NULL, 0, text, len, file, size), "encryption");
    save(argv[3], file, size);

    /* And back. */
    uint8_t *back = room(len);
    check(evener_decrypt(workers, secret, NULL, 0, file, size, back, len), "decryption");
    if (memcmp(back, text, len) != 0) {
        fprintf(stderr, "another text\n");
        return 1;
    }

    /* Chunk by chunk, backwards, as a program does that reads here and there. */
    size_t header = 0;
    check(evener_header_size(secret, &header), "the header");
    evener_file_key *key = NULL;
    check(evener_file_key_open(secret, NULL, 0, file, header, &key), "the header");
    uint64_t chunks = len / EVENER_CHUNK + 1;
    for (uint64_t chunk = chunks; chunk-- > 0;) {
        const uint8_t *sealed = file + header + chunk * (EVENER_CHUNK + EVENER_TAG);
        int last = chunk == chunks - 1;
        size_t part = last ? len % EVENER_CHUNK : EVENER_CHUNK;
        uint8_t opened[EVENER_CHUNK];
        check(evener_chunks_open(key, chunk, last, sealed, part + EVENER_TAG, opened, part), "a chunk");
        if (memcmp(opened, text + chunk * EVENER_CHUNK, part) != 0) {
            fprintf(stderr, "another chunk\n");
            return 1;
        }
    }
    evener_file_key_free(key);

    /* What was altered is refused, and nothing of it is in the output. */
    file[size / 2] ^= 1;
    if (evener_decrypt(workers, secret, NULL, 0, file, size, back, len) != EVENER_STATUS_REFUSED) {
        fprintf(stderr, "it was not refused\n");
        return 1;
    }
    printf("altered: %s\n", evener_last_error());

    evener_secret_free(secret);
    evener_workers_free(workers);
    free(back);
    free(file);
    free(text);
    printf("%zu bytes in %llu chunks\n", len, (unsigned long long)chunks);
    return 0;
}
