/* The motion search of `search.rs` and the estimates of `estimate.rs`, to the bit: what they compute stands there.
 *
 * A picture is a buffer of three planes with their borders, one after the other: full size, half, quarter. Arguments
 * that kernels have in common are columns and rows of macroblocks, how far down vectors point, and the stride of a plane
 * and where it begins.
 *
 * Vectors at a quarter of the size are tried by a thread for eight of them: 1080 lines have 270,000 such threads. Which
 * are the best depends on the order in which they are looked at, so that one thread of each cell does that. All else is
 * done by a thread for each macroblock: 25 to 50 blocks of 16x16 and up to 120 of 8x8.
 *
 * Bound: loads of single bytes from the first cache, two for each difference. A picture of 1920x1080 has 4 * 10^8
 * differences in one reference. Measured nowhere but on cores.
 */

#define SEARCH_PAD 32
#define SEARCH_SMALL_PAD 16
#define SEARCH_OUTSIDE 28
#define SEARCH_STEP 2u
#define SEARCH_REFINE 2
#define SEARCH_STEPS 3
#define SEARCH_NOTHING 0xffffffffu
/* The cost of a vector at a quarter of the size that is not tried. */
#define SEARCH_UNTRIED 0xffffu
/* Words that are written for a macroblock. */
#define SEARCH_WORDS 8

/* A vector in samples, and its cost. */
typedef struct {
    int x, y;
    uint cost;
} search_tried;

/* The best two that are not beside one another. */
typedef struct {
    search_tried first, second;
} search_best;

/* Where a block may move. */
typedef struct {
    int left, right, up, down;
} search_limits;

static inline int search_clamp(int value, int least, int most) {
    return value < least ? least : value > most ? most : value;
}

static inline uint search_abs(int value) {
    return (uint)(value < 0 ? -value : value);
}

static inline uint search_moves(int x, int y) {
    return SEARCH_STEP * (search_abs(x) + search_abs(y));
}

static inline search_tried search_vector(int x, int y, uint cost) {
    search_tried tried;
    tried.x = x;
    tried.y = y;
    tried.cost = cost;
    return tried;
}

static inline int search_near(search_tried one, search_tried other) {
    return search_abs(one.x - other.x) <= 1u && search_abs(one.y - other.y) <= 1u;
}

static inline search_best search_none(void) {
    search_best best;
    best.first = search_vector(0, 0, SEARCH_NOTHING);
    best.second = best.first;
    return best;
}

static inline search_best search_add(search_best best, search_tried tried) {
    int near = search_near(best.first, tried);
    if (tried.cost < best.first.cost) {
        if (!near)
            best.second = best.first;
        best.first = tried;
    } else if (tried.cost < best.second.cost && !near) {
        best.second = tried;
    }
    return best;
}

/* At `scale` times less than the full size. */
static inline search_limits search_limit(int x, int y, int scale, int columns, int rows, int below) {
    search_limits limits;
    int outside = SEARCH_OUTSIDE / scale, size = 16 / scale;
    limits.left = -outside - x;
    limits.right = columns * size + outside - size - x;
    limits.up = -outside - y;
    limits.down = rows * size + outside - size - y;
    limits.down = limits.down < below / scale ? limits.down : below / scale;
    return limits;
}

/* Whether any of eight vectors from `x` on may be tried. */
static inline int search_tries(search_limits limits, int x, int y) {
    return y >= limits.up && y <= limits.down && x + 7 >= limits.left && x <= limits.right;
}

/* The first of eight vectors in place of `x`, so that 16 samples of a row are there; for a block at column `at` of a
 * plane with so many columns. */
static inline int search_first(int x, int at, int width) {
    return search_clamp(x, -SEARCH_SMALL_PAD - at, width + SEARCH_SMALL_PAD - 16 - at);
}

/* Sums of absolute differences of a block of 8x8 and the eight that begin at the first samples of `reference`. */
static inline void search_sad_eight(GLOBAL(const uchar) *block, GLOBAL(const uchar) *reference, int stride, uint *sums) {
    int x, y, i;
    for (i = 0; i < 8; i++)
        sums[i] = 0u;
    for (y = 0; y < 8; y++) {
        for (x = 0; x < 8; x++) {
            int sample = (int)block[x];
            for (i = 0; i < 8; i++)
                sums[i] += search_abs(sample - (int)reference[x + i]);
        }
        block += stride;
        reference += stride;
    }
}

/* The sum of absolute differences of blocks of 8x8. */
static inline uint search_sad(GLOBAL(const uchar) *block, GLOBAL(const uchar) *reference, int stride) {
    int x, y;
    uint sum = 0u;
    for (y = 0; y < 8; y++) {
        for (x = 0; x < 8; x++)
            sum += search_abs((int)block[x] - (int)reference[x]);
        block += stride;
        reference += stride;
    }
    return sum;
}

/* The sum of absolute transformed differences of a block of 8x8 and its prediction, whose rows follow one another. */
static inline uint search_satd(GLOBAL(const uchar) *block, int stride, const uchar *prediction) {
    uint sum = 0u;
    int part, i, j;
    for (part = 0; part < 4; part++) {
        int left = part % 2 * 4, top = part / 2 * 4;
        int m[16];
        for (i = 0; i < 4; i++) {
            GLOBAL(const uchar) *row = block + (top + i) * stride + left;
            const uchar *other = prediction + (top + i) * 8 + left;
            int a = (int)row[0] - (int)other[0], b = (int)row[1] - (int)other[1];
            int c = (int)row[2] - (int)other[2], d = (int)row[3] - (int)other[3];
            m[4 * i] = a + b + c + d;
            m[4 * i + 1] = a - b + c - d;
            m[4 * i + 2] = a + b - c - d;
            m[4 * i + 3] = a - b - c + d;
        }
        uint whole = 0u;
        for (j = 0; j < 4; j++) {
            int a = m[j], b = m[4 + j], c = m[8 + j], d = m[12 + j];
            whole += search_abs(a + b + c + d) + search_abs(a - b + c - d);
            whole += search_abs(a + b - c - d) + search_abs(a - b - c + d);
        }
        sum += whole / 2u;
    }
    return sum;
}

/* The costs of all vectors at a quarter of the size, SEARCH_UNTRIED where one is not tried. The first dimension of
 * the grid are cells, row by row; the second are eight vectors, row by row. */
KERNEL(search_quarter)(GLOBAL(const uchar) *source, GLOBAL(const uchar) *reference, GLOBAL(ushort) *costs, int columns,
                       int rows, int below, int stride, int begin, int range) {
    int across = (columns + 1) / 2, cells = across * ((rows + 1) / 2);
    int cell = (int)GID0, eight = (int)GID1, groups = range / 4;
    int x = 8 * (cell % across), y = 8 * (cell / across);
    int dy = eight / groups - range, dx = eight % groups * 8 - range;
    int i;
    if (cell >= cells || eight >= groups * (2 * range + 1))
        return;
    search_limits limits = search_limit(x, y, 4, columns, rows, below);
    int tries = search_tries(limits, dx, dy);
    uint sums[8];
    if (tries) {
        int at = begin + (y + SEARCH_SMALL_PAD) * stride + x + SEARCH_SMALL_PAD;
        dx = search_first(dx, x, 4 * columns);
        search_sad_eight(source + at, reference + (at + dy * stride + dx), stride, sums);
    }
    for (i = 0; i < 8; i++) {
        int tried = tries && dx + i >= limits.left && dx + i <= limits.right;
        uint cost = tried ? sums[i] + search_moves(dx + i, dy) : SEARCH_UNTRIED;
        costs[(8 * eight + i) * cells + cell] = (ushort)cost;
    }
}

/* The best two vectors of each cell: their columns, rows and costs. */
KERNEL(search_cell)(GLOBAL(const ushort) *costs, GLOBAL(int) *best, int columns, int rows, int range) {
    int across = (columns + 1) / 2, cells = across * ((rows + 1) / 2);
    int cell = (int)GID0, groups = range / 4, x = 8 * (cell % across);
    int eight, i;
    if (cell >= cells)
        return;
    search_best found = search_none();
    for (eight = 0; eight < groups * (2 * range + 1); eight++) {
        int dy = eight / groups - range;
        int dx = search_first(eight % groups * 8 - range, x, 4 * columns);
        for (i = 0; i < 8; i++) {
            uint cost = (uint)costs[(8 * eight + i) * cells + cell];
            if (cost != SEARCH_UNTRIED)
                found = search_add(found, search_vector(dx + i, dy, cost));
        }
    }
    best += 6 * cell;
    best[0] = found.first.x;
    best[1] = found.first.y;
    best[2] = (int)found.first.cost;
    best[3] = found.second.x;
    best[4] = found.second.y;
    best[5] = (int)found.second.cost;
}

/* Tries a vector at the full size: `tried` has the best so far, of the whole macroblock and of each quarter. */
static inline void search_try(GLOBAL(const uchar) *block, GLOBAL(const uchar) *reference, int stride, int x, int y,
                              search_tried *tried) {
    uint moves = search_moves(x, y), whole = moves;
    int quarter;
    reference += y * stride + x;
    for (quarter = 0; quarter < 4; quarter++) {
        int at = quarter / 2 * 8 * stride + quarter % 2 * 8;
        uint sum = search_sad(block + at, reference + at, stride);
        whole += sum;
        if (sum + moves < tried[1 + quarter].cost)
            tried[1 + quarter] = search_vector(x, y, sum + moves);
    }
    if (whole < tried[0].cost)
        tried[0] = search_vector(x, y, whole);
}

static inline uint search_pack(search_tried tried) {
    return ((uint)(4 * tried.x) & 0xffffu) | (uint)(4 * tried.y) << 16;
}

/* Where the words of a macroblock are, counted in macroblocks: cells row by row, and in each left to right, top to
 * bottom. */
static inline int search_place(int x, int y, int columns) {
    return ((y / 2) * ((columns + 1) / 2) + x / 2) * 4 + y % 2 * 2 + x % 2;
}

/* Searches each macroblock, a column and a row of the grid, from what was found for its cell, and at the full size from
 * the best `starts` vectors at half the size, 1 or 2. Of each are written the
 * best two vectors and that of each quarter, in quarters of a sample, columns in the lower halves of words; the sum of
 * absolute differences of the best one; and the transformed one at half the size. From word `at` on. */
KERNEL(search_macroblock)(GLOBAL(const uchar) *source, GLOBAL(const uchar) *reference, GLOBAL(const int) *best,
                          GLOBAL(uint) *out, uint at, int columns, int rows, int below, int stride, int half_stride,
                          int half_begin, int starts) {
    int column = (int)GID0, row = (int)GID1;
    int i, dy, part;
    if (column >= columns || row >= rows)
        return;

    /* At half the size. */
    int x = 8 * column, y = 8 * row;
    int place = half_begin + (y + SEARCH_SMALL_PAD) * half_stride + x + SEARCH_SMALL_PAD;
    GLOBAL(const uchar) *block = source + place;
    GLOBAL(const uchar) *other = reference + place;
    search_limits limits = search_limit(x, y, 2, columns, rows, below);
    search_best middle = search_none();
    best += 6 * ((row / 2) * ((columns + 1) / 2) + column / 2);
#pragma unroll 1
    for (part = 0; part < 3; part++) {
        int around_x = part == 0 ? 0 : best[3 * part - 3], around_y = part == 0 ? 0 : best[3 * part - 2];
        if (part > 0 && (uint)best[3 * part - 1] == SEARCH_NOTHING)
            continue;
#pragma unroll 1
        for (dy = -SEARCH_REFINE; dy <= SEARCH_REFINE; dy++) {
            int vx = 2 * around_x - 3, vy = 2 * around_y + dy;
            uint sums[8];
            if (!search_tries(limits, vx, vy))
                continue;
            vx = search_first(vx, x, 8 * columns);
            search_sad_eight(block, other + (vy * half_stride + vx), half_stride, sums);
            for (i = 0; i < 8; i++)
                if (vx + i >= limits.left && vx + i <= limits.right)
                    middle = search_add(middle, search_vector(vx + i, vy, sums[i] + search_moves(vx + i, vy)));
        }
    }
    uchar prediction[64];
    other += middle.first.y * half_stride + middle.first.x;
    for (i = 0; i < 64; i++)
        prediction[i] = other[i / 8 * half_stride + i % 8];
    uint transformed = search_satd(block, half_stride, prediction);

    /* At the full size. */
    x = 16 * column;
    y = 16 * row;
    place = (y + SEARCH_PAD) * stride + x + SEARCH_PAD;
    block = source + place;
    other = reference + place;
    limits = search_limit(x, y, 1, columns, rows, below);
    search_tried tried[5], whole[2];
    int count = 0;
    for (i = 0; i < 5; i++)
        tried[i] = search_vector(0, 0, SEARCH_NOTHING);
    whole[0] = tried[0];
    whole[1] = tried[0];
#pragma unroll 1
    for (part = 0; part < 3; part++) {
        search_tried around = part == 0 ? middle.first : middle.second;
        int turn, from_x, from_y;
        if (part == 2)
            around = search_vector(0, 0, 0u);
        if (around.cost == SEARCH_NOTHING || count == starts)
            continue;
        tried[0] = search_vector(0, 0, SEARCH_NOTHING);
        from_x = search_clamp(2 * around.x, limits.left, limits.right);
        from_y = search_clamp(2 * around.y, limits.up, limits.down);
        search_try(block, other, stride, from_x, from_y, tried);
        /* The four beside it and the four at its corners: first those that differ in one of both. */
#pragma unroll 1
        for (turn = 0; turn < SEARCH_STEPS; turn++) {
            from_x = tried[0].x;
            from_y = tried[0].y;
#pragma unroll 1
            for (i = 0; i < 8; i++) {
                int sign = i % 2 * 2 - 1;
                int to_x = i < 2 ? sign : i < 4 ? 0 : sign;
                int to_y = i < 2 ? 0 : i < 4 ? sign : i < 6 ? -1 : 1;
                to_x = search_clamp(from_x + to_x, limits.left, limits.right);
                to_y = search_clamp(from_y + to_y, limits.up, limits.down);
                search_try(block, other, stride, to_x, to_y, tried);
            }
            if (tried[0].x == from_x && tried[0].y == from_y)
                break;
        }
        whole[count] = tried[0];
        count++;
    }
    if (count == 1)
        whole[1] = whole[0];
    if (whole[1].cost < whole[0].cost) {
        search_tried better = whole[1];
        whole[1] = whole[0];
        whole[0] = better;
    }
    out += at + (uint)(SEARCH_WORDS * search_place(column, row, columns));
    out[0] = search_pack(whole[0]);
    out[1] = search_pack(whole[1]);
    for (i = 0; i < 4; i++)
        out[2 + i] = search_pack(tried[1 + i]);
    out[6] = whole[0].cost - search_moves(whole[0].x, whole[0].y);
    out[7] = transformed;
}

/* What predicting each macroblock from its own picture costs, at half the size: a word of each from word `at` on. */
KERNEL(search_intra)(GLOBAL(const uchar) *source, GLOBAL(uint) *out, uint at, int columns, int rows, int stride, int begin) {
    int column = (int)GID0, row = (int)GID1;
    int i, count = 0;
    uint best = SEARCH_NOTHING, sum = 0u, cost, mean = 128u;
    uchar prediction[64];
    if (column >= columns || row >= rows)
        return;
    GLOBAL(const uchar) *block =
        source + (begin + (8 * row + SEARCH_SMALL_PAD) * stride + 8 * column + SEARCH_SMALL_PAD);
    if (row > 0) {
        for (i = 0; i < 64; i++)
            prediction[i] = block[i % 8 - stride];
        for (i = 0; i < 8; i++)
            sum += (uint)prediction[i];
        best = search_satd(block, stride, prediction);
        count += 8;
    }
    if (column > 0) {
        for (i = 0; i < 64; i++)
            prediction[i] = block[i / 8 * stride - 1];
        for (i = 0; i < 8; i++)
            sum += (uint)prediction[8 * i];
        cost = search_satd(block, stride, prediction);
        best = cost < best ? cost : best;
        count += 8;
    }
    if (count > 0)
        mean = (sum + (uint)(count / 2)) / (uint)count;
    for (i = 0; i < 64; i++)
        prediction[i] = (uchar)mean;
    cost = search_satd(block, stride, prediction);
    out[at + (uint)search_place(column, row, columns)] = cost < best ? cost : best;
}
