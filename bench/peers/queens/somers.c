/* Counting n-queens solutions on one thread in the manner of J. Somers, "The N Queens Problem", 2002, written anew from
 * the description of the algorithm: bit vectors for columns and diagonals, the lowest free bit taken next, an explicit
 * stack instead of recursion, and the mirror image of each solution not searched: the first queen stands left of the
 * middle, or in it, and then the second queen left of it.
 *
 *   somers N     prints N, the total and seconds
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LARGEST 30

/* Solutions with a queen at `first` in the first row and at one of `second` in the second. */
static uint64_t below(int n, uint32_t first, uint32_t second)
{
    uint32_t columns[LARGEST + 1], rising[LARGEST + 1], falling[LARGEST + 1], free[LARGEST + 1];
    const uint32_t all = (1u << n) - 1;
    uint64_t solutions = 0;
    int row = 1;

    columns[1] = first;
    rising[1] = first << 1;
    falling[1] = first >> 1;
    free[1] = second & all & ~(columns[1] | rising[1] | falling[1]);
    while (row > 0) {
        uint32_t bit = free[row] & -free[row];
        if (!bit) {
            row--;
            continue;
        }
        free[row] ^= bit;
        if (row == n - 1) {
            solutions++;
            row--;
            continue;
        }
        columns[row + 1] = columns[row] | bit;
        rising[row + 1] = (rising[row] | bit) << 1;
        falling[row + 1] = (falling[row] | bit) >> 1;
        row++;
        free[row] = all & ~(columns[row] | rising[row] | falling[row]);
    }
    return solutions;
}

static uint64_t total(int n)
{
    const uint32_t all = (1u << n) - 1;
    uint64_t half = 0;

    if (n < 2)
        return 1;
    for (int column = 0; column < n / 2; column++)
        half += below(n, 1u << column, all);
    if (n % 2)
        half += below(n, 1u << n / 2, (1u << n / 2) - 1);
    return 2 * half;
}

int main(int argc, char **argv)
{
    struct timespec begin, end;
    int n = argc == 2 ? atoi(argv[1]) : -1;

    if (n < 0 || n > LARGEST) {
        fprintf(stderr, "usage: somers N, 0 to %d\n", LARGEST);
        return 2;
    }
    clock_gettime(CLOCK_MONOTONIC, &begin);
    uint64_t solutions = total(n);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    printf("%d %llu %.6f\n", n, (unsigned long long)solutions, seconds);
    return 0;
}
