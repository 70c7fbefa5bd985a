/* Counts solutions below many roots, each of which is a board with its upper rows filled.
 *
 * A job is a root and two numbers below QUEENS_SHARES: a share of the root's free columns, and a share of the free
 * columns of each child. So there are 64 times as many jobs as the host makes roots. Threads take jobs from a counter
 * until there are no more. A thread has one board, and a stack of those that have a further free column. A step places
 * a queen on the lowest free column. Then the thread goes on with the child, if that has a free column; with the same
 * board, if it has another one; with a board of its stack; or with its next job. So each thread makes a step in each
 * round of its warp, whatever the shapes of their trees.
 *
 * Words of boards have the columns in bits 4 to 31. The low bits are set in `columns`, so that no free column is there.
 * In a row's word they say how many rows it is below the one before. The word after the last row's has no free column,
 * and distance 0.
 *
 * Bound: issuing instructions and integer operations, about equally. A round of a warp is about 57 instructions if some
 * of its threads put a board onto their stacks and others take one off. About 30 of them are integer operations of 32
 * bits, for which a scheduler needs two clocks each. So 32 steps take 60 clocks of a scheduler. An H100 has 132 * 4 of
 * them: 5 * 10^11 steps a second at 1.75 GHz. N = 18 is 8 * 10^9 steps, N = 21 is 5 * 10^12.
 */

/* Boards of all stacks of a group. */
#define QUEENS_STACK 1536
#define QUEENS_SHARES 8u
#define QUEENS_DISTANCE 3u

/* One of QUEENS_SHARES shares of the free columns: one column, or all that the other shares leave. */
static inline uint queens_share(uint free, uint share) {
    uint i;
    for (i = 0u; i < share; i++)
        free &= free - 1u;
    return share < QUEENS_SHARES - 1u ? free & (0u - free) : free;
}

/* Adds to a unit's sum of 64 bits. An addition of 32 bits carries if it overflows, which what was there tells. */
static inline void queens_add(GLOBAL(uint) *sum, ulong more) {
    uint low = (uint)more, high = (uint)(more >> 32);
    if (low != 0u && ATOMIC_ADD(sum, low) > 0xffffffffu - low)
        high++;
    if (high != 0u)
        ATOMIC_ADD(sum + 1, high);
}

/* `tables`: 32 words of ones; then tables of a unit, a weight, and the words of the roots' row and those below it, at
 * least three, and of the one below the last. `roots`: for each root rising diagonals, falling ones, columns, and where
 * its table begins. `out`: the next job, a word that is not used, and the sum of each unit. */
KERNEL(queens_count)(GLOBAL(const uint) *tables, GLOBAL(const uint) *roots, GLOBAL(uint) *out, uint jobs) {
    LOCAL(uint) stack[4 * QUEENS_STACK];
    uint rising = 0u, falling = 0u, columns = 0u, free = 0u;
    /* The word of the board's row, and where it would be if no bit of its columns were set. */
    GLOBAL(const uint) *at = tables, *first = tables;
    /* With a sign, so that compilers need not think of overflow and add the distances within a load or store. */
    int bottom = (int)THREAD0, top = bottom, size = (int)THREADS0;
    /* The job, its table, and what is left of its share of the root's columns. */
    uint job = 0u, table = 0u, rest = 0u;
    /* What is not yet added to the sum of the table's unit. It cannot overflow, since a step adds one at most. */
    ulong found = 0u;

    /* The board at the begin has no child. No branch leaves a loop from within, so that the threads of a warp come
     * together again in each round. */
    do {
        uint bit = free & (0u - free);
        uint row = at[1], distance = row & QUEENS_DISTANCE;
        uint below_rising = (rising | bit) << distance;
        uint below_falling = (falling | bit) >> distance;
        uint below_columns = columns | bit;
        uint below = ~(below_rising | below_falling | below_columns | row);
        found += distance == 0u ? 1u : 0u;
        free ^= bit;
        if (below != 0u && free != 0u) {
            stack[top] = rising;
            stack[top + QUEENS_STACK] = falling;
            stack[top + 2 * QUEENS_STACK] = columns;
            stack[top + 3 * QUEENS_STACK] = free;
            top += size;
        }
        rising = below != 0u ? below_rising : rising;
        falling = below != 0u ? below_falling : falling;
        columns = below != 0u ? below_columns : columns;
        free = below != 0u ? below : free;
        at += below != 0u ? 1 : 0;
        if (free == 0u) {
            if (top != bottom) {
                top -= size;
                rising = stack[top];
                falling = stack[top + QUEENS_STACK];
                columns = stack[top + 2 * QUEENS_STACK];
                free = stack[top + 3 * QUEENS_STACK];
                at = first + POPCOUNT(columns);
            } else {
                do {
                    GLOBAL(const uint) *root;
                    if (rest == 0u) {
                        uint before = table;
                        job = ATOMIC_ADD(out, 1u);
                        root = roots + job / (QUEENS_SHARES * QUEENS_SHARES) * 4u;
                        if (job < jobs) {
                            table = root[3];
                            first = tables + (table + 2u - POPCOUNT(root[2]));
                            rest = queens_share(~(root[0] | root[1] | root[2] | tables[table + 2u]),
                                                job / QUEENS_SHARES % QUEENS_SHARES);
                        }
                        if (found != 0u && (job >= jobs || table != before)) {
                            queens_add(out + 2u + 2u * tables[before], found * tables[before + 1u]);
                            found = 0u;
                        }
                    }
                    if (rest != 0u) {
                        root = roots + job / (QUEENS_SHARES * QUEENS_SHARES) * 4u;
                        bit = rest & (0u - rest);
                        rest ^= bit;
                        at = tables + (table + 3u);
                        row = at[0];
                        rising = (root[0] | bit) << (row & QUEENS_DISTANCE);
                        falling = (root[1] | bit) >> (row & QUEENS_DISTANCE);
                        columns = root[2] | bit;
                        free = queens_share(~(rising | falling | columns | row), job % QUEENS_SHARES);
                    }
                } while (free == 0u && job < jobs);
            }
        }
    } while (free != 0u);
}
