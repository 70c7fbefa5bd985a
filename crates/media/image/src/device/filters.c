/*
 * Kernels of filters.
 *
 * A launch computes one output a thread. It is described by words in `p`: FILTERS_ plus a name below is where each is,
 * counted from `at`. The planes of several units lie one after the other, and the rows of groups count all units.
 *
 * What is computed is that of the row kernels, in the same order: the same bits.
 */

/* How the input is read. Sample (x, y) that the kernel asks for is BASE + x STEP_X + y STEP_Y. */
#define FILTERS_FORMAT 0
#define FILTERS_BASE 1
#define FILTERS_STEP_X 2
#define FILTERS_STEP_Y 3
#define FILTERS_RIGHT 4
#define FILTERS_BOTTOM 5
#define FILTERS_UNIT 6
#define FILTERS_ZERO 7
#define FILTERS_INVERSE 8
#define FILTERS_REST 9
#define FILTERS_BEFORE 10
/* How the output is written. */
#define FILTERS_OUT_FORMAT 11
#define FILTERS_OUT_WIDTH 12
#define FILTERS_OUT_UNIT 13
#define FILTERS_OUT_ZERO 14
#define FILTERS_OUT_SPAN 15
#define FILTERS_OUT_MAXIMUM 16
#define FILTERS_AFTER 17
/* Which outputs are computed. That in column x is what the kernel gives in column VIEW_X + x VIEW_STEP_X. */
#define FILTERS_X0 18
#define FILTERS_Y0 19
#define FILTERS_X1 20
#define FILTERS_Y1 21
#define FILTERS_GROUPS 22
#define FILTERS_VIEW_X 23
#define FILTERS_VIEW_STEP_X 24
#define FILTERS_VIEW_Y 25
#define FILTERS_VIEW_STEP_Y 26
/* Where the kernel's own parameters begin. */
#define FILTERS_OWN 27

#define FILTERS_U8 0u
#define FILTERS_U16 1u

/* A list of operations on a sample: how many, then number and parameter of each. */
static inline float filters_operate(GLOBAL(const uint) *list, float v)
{
    uint i, count = list[0];
    /* Lists are short, and this is in every load of every kernel. */
#pragma unroll 1
    for (i = 0; i < count; i++) {
        uint number = list[1 + 2 * i];
        float parameter = AS_FLOAT(list[2 + 2 * i]);
        if (number == 0) {
            v = v > parameter ? v : 0.0f;
        } else if (number == 1) {
            v = v < parameter ? v : 0.0f;
        } else if (number == 2) {
            v = v > parameter ? 1.0f : 0.0f;
        } else if (number == 3) {
            float last = parameter - 1.0f, level;
            v = v < 0.0f ? 0.0f : v;
            v = v > 1.0f ? 1.0f : v;
            level = FLOOR(v * parameter);
            v = (level > last ? last : level) / last;
        }
    }
    return v;
}

/* The input of one unit. */
typedef struct {
    GLOBAL(const uchar) *samples;
    GLOBAL(const uint) *before;
    uint format;
    int first, step_x, step_y, right, bottom;
    float zero, inverse, rest;
} filters_input;

static inline filters_input filters_open(GLOBAL(const uint) *p, uint at, GLOBAL(const uchar) *samples, uint unit)
{
    filters_input in;
    in.samples = samples;
    in.before = p + p[at + FILTERS_BEFORE];
    in.format = p[at + FILTERS_FORMAT];
    in.first = (int)(p[at + FILTERS_BASE] + unit * p[at + FILTERS_UNIT]);
    in.step_x = (int)p[at + FILTERS_STEP_X];
    in.step_y = (int)p[at + FILTERS_STEP_Y];
    in.right = (int)p[at + FILTERS_RIGHT];
    in.bottom = (int)p[at + FILTERS_BOTTOM];
    in.zero = AS_FLOAT(p[at + FILTERS_ZERO]);
    in.inverse = AS_FLOAT(p[at + FILTERS_INVERSE]);
    in.rest = AS_FLOAT(p[at + FILTERS_REST]);
    return in;
}

/* The value of the sample nearest to (x, y). */
static inline float filters_load(filters_input in, int x, int y)
{
    int at;
    float v;
    x = x < 0 ? 0 : x;
    x = x > in.right ? in.right : x;
    y = y < 0 ? 0 : y;
    y = y > in.bottom ? in.bottom : y;
    at = in.first + x * in.step_x + y * in.step_y;
    if (in.format == FILTERS_U8 || in.format == FILTERS_U16) {
        float above;
        if (in.format == FILTERS_U8)
            above = (float)in.samples[at] - in.zero;
        else
            above = (float)((GLOBAL(const ushort) *)in.samples)[at] - in.zero;
        v = FMA(above, in.inverse, above * in.rest);
    } else {
        v = ((GLOBAL(const float) *)in.samples)[at];
    }
    return filters_operate(in.before, v);
}

/* An output and its position for the kernel. */
typedef struct {
    int inside, at, x, y;
    uint unit;
} filters_output;

static inline filters_output filters_place(GLOBAL(const uint) *p, uint at, uint column, uint group, uint row,
                                           uint rows)
{
    filters_output out;
    uint groups = p[at + FILTERS_GROUPS];
    uint x = p[at + FILTERS_X0] + column;
    uint y = p[at + FILTERS_Y0] + group % groups * rows + row;
    out.unit = group / groups;
    out.inside = x < p[at + FILTERS_X1] && y < p[at + FILTERS_Y1];
    out.at = (int)(out.unit * p[at + FILTERS_OUT_UNIT] + y * p[at + FILTERS_OUT_WIDTH] + x);
    out.x = (int)p[at + FILTERS_VIEW_X] + (int)x * (int)p[at + FILTERS_VIEW_STEP_X];
    out.y = (int)p[at + FILTERS_VIEW_Y] + (int)y * (int)p[at + FILTERS_VIEW_STEP_Y];
    return out;
}

static inline void filters_store(GLOBAL(const uint) *p, uint at, GLOBAL(uchar) *samples, filters_output out, float v)
{
    uint format = p[at + FILTERS_OUT_FORMAT];
    v = filters_operate(p + p[at + FILTERS_AFTER], v);
    if (format == FILTERS_U8 || format == FILTERS_U16) {
        float maximum = AS_FLOAT(p[at + FILTERS_OUT_MAXIMUM]);
        uint code;
        v = FMA(v, AS_FLOAT(p[at + FILTERS_OUT_SPAN]), AS_FLOAT(p[at + FILTERS_OUT_ZERO]));
        v = v > 0.0f ? v : 0.0f;
        v = v < maximum ? v : maximum;
        /* The sum with 1.5 x 2^23 is rounded to a whole number, ties to even, which is in its low bits. */
        code = AS_UINT(v + 12582912.0f) & 0xffffu;
        if (format == FILTERS_U8)
            samples[out.at] = (uchar)code;
        else
            ((GLOBAL(ushort) *)samples)[out.at] = (ushort)code;
    } else {
        ((GLOBAL(float) *)samples)[out.at] = v;
    }
}

/* What every kernel begins with. */
#define FILTERS_BEGIN                                                                                                  \
    filters_output out = filters_place(p, at, GID0, GROUP1, THREAD1, THREADS1);                                        \
    filters_input in;                                                                                                  \
    if (!out.inside)                                                                                                   \
        return;                                                                                                        \
    in = filters_open(p, at, from, out.unit);

#define FILTERS_END(value) filters_store(p, at, to, out, value);

#define FILTERS_ARGUMENTS GLOBAL(const uint) *p, uint at, GLOBAL(const uchar) *from, GLOBAL(uchar) *to

/* The sample itself. */
KERNEL(filters_copy)(FILTERS_ARGUMENTS)
{
    FILTERS_BEGIN
    FILTERS_END(filters_load(in, out.x, out.y))
}

static inline float filters_smooth3(float a, float b, float c)
{
    return (a + c) + (b + b);
}

/* The samples of a row around column x. */
typedef struct {
    float left, middle, right;
} filters_row;

static inline filters_row filters_row_at(filters_input in, int x, int y)
{
    filters_row row;
    row.left = filters_load(in, x - 1, y);
    row.middle = filters_load(in, x, y);
    row.right = filters_load(in, x + 1, y);
    return row;
}

static inline float filters_smoothed(filters_row row)
{
    return filters_smooth3(row.left, row.middle, row.right);
}

/* 3x3 neighbourhoods go from row to row, so that a load is compiled three times and not nine. */

KERNEL(filters_blur)(FILTERS_ARGUMENTS)
{
    float upper = 0.0f, middle = 0.0f, lower = 0.0f;
    int k;
    FILTERS_BEGIN
#pragma unroll 1
    for (k = -1; k <= 1; k++) {
        upper = middle;
        middle = lower;
        lower = filters_smoothed(filters_row_at(in, out.x, out.y + k));
    }
    FILTERS_END(filters_smooth3(upper, middle, lower) * (1.0f / 16.0f))
}

KERNEL(filters_sobel_x)(FILTERS_ARGUMENTS)
{
    float upper = 0.0f, middle = 0.0f, lower = 0.0f;
    int k;
    FILTERS_BEGIN
#pragma unroll 1
    for (k = -1; k <= 1; k++) {
        upper = middle;
        middle = lower;
        lower = filters_load(in, out.x + 1, out.y + k) - filters_load(in, out.x - 1, out.y + k);
    }
    FILTERS_END(filters_smooth3(upper, middle, lower))
}

KERNEL(filters_sobel_y)(FILTERS_ARGUMENTS)
{
    float upper = 0.0f, lower = 0.0f;
    int k;
    FILTERS_BEGIN
#pragma unroll 1
    for (k = -1; k <= 1; k += 2) {
        upper = lower;
        lower = filters_smoothed(filters_row_at(in, out.x, out.y + k));
    }
    FILTERS_END(lower - upper)
}

/* The length of both gradients. */
KERNEL(filters_sobel)(FILTERS_ARGUMENTS)
{
    float x_upper = 0.0f, x_middle = 0.0f, x_lower = 0.0f, y_upper = 0.0f, y_middle = 0.0f, y_lower = 0.0f, gx, gy;
    int k;
    FILTERS_BEGIN
#pragma unroll 1
    for (k = -1; k <= 1; k++) {
        filters_row row = filters_row_at(in, out.x, out.y + k);
        x_upper = x_middle;
        x_middle = x_lower;
        x_lower = row.right - row.left;
        y_upper = y_middle;
        y_middle = y_lower;
        y_lower = filters_smoothed(row);
    }
    gx = filters_smooth3(x_upper, x_middle, x_lower);
    gy = y_lower - y_upper;
    FILTERS_END(SQRT(FMA(gx, gx, gy * gy)))
}

/* The sum of weights times samples from (x, y) on, along a column or a row. */
static inline float filters_sum(filters_input in, GLOBAL(const uint) *weights, int taps, int x, int y, uint column)
{
    float sum = 0.0f;
    int k;
    for (k = 0; k < taps; k++) {
        float v = column ? filters_load(in, x, y + k) : filters_load(in, x + k, y);
        sum = FMA(AS_FLOAT(weights[k]), v, sum);
    }
    return sum;
}

/* Own parameters: 1 for a column and 0 for a row, the number of taps, their weights. The output is in the middle. */
KERNEL(filters_smooth)(FILTERS_ARGUMENTS)
{
    GLOBAL(const uint) *own = p + at + FILTERS_OWN;
    int taps = (int)own[1], x, y;
    FILTERS_BEGIN
    x = own[0] ? out.x : out.x - taps / 2;
    y = own[0] ? out.y - taps / 2 : out.y;
    FILTERS_END(filters_sum(in, own + 2, taps, x, y, own[0]))
}

/* Own parameters: as above, the number of outputs, the first tap of each, the weights of each. */
KERNEL(filters_shrink)(FILTERS_ARGUMENTS)
{
    GLOBAL(const uint) *own = p + at + FILTERS_OWN, *first = own + 3;
    int taps = (int)own[1], x, y, i;
    FILTERS_BEGIN
    i = own[0] ? out.y : out.x;
    x = own[0] ? out.x : (int)first[i];
    y = own[0] ? (int)first[i] : out.y;
    FILTERS_END(filters_sum(in, first + own[2] + i * taps, taps, x, y, own[0]))
}

/* The blend of the four samples around a position. `edge`: 1 where edges repeat and 0 for fill, and the fill. */
static inline float filters_bilinear(filters_input in, GLOBAL(const uint) *edge, float sx, float sy)
{
    float right = (float)in.right, bottom = (float)in.bottom, fx, fy, a, b, c, d, u, l;
    int x, y;
    if (edge[0]) {
        sx = sx > 0.0f ? sx : 0.0f;
        sx = sx < right ? sx : right;
        sy = sy > 0.0f ? sy : 0.0f;
        sy = sy < bottom ? sy : bottom;
    } else if (!(sx >= 0.0f && sx <= right && sy >= 0.0f && sy <= bottom)) {
        return AS_FLOAT(edge[1]);
    }
    x = (int)sx;
    x = x < in.right - 1 ? x : in.right - 1;
    x = x > 0 ? x : 0;
    y = (int)sy;
    y = y < in.bottom - 1 ? y : in.bottom - 1;
    y = y > 0 ? y : 0;
    fx = sx - (float)x;
    fy = sy - (float)y;
    a = filters_load(in, x, y);
    b = filters_load(in, x + 1, y);
    c = filters_load(in, x, y + 1);
    d = filters_load(in, x + 1, y + 1);
    u = FMA(fx, b - a, a);
    l = FMA(fx, d - c, c);
    return FMA(fy, l - u, u);
}

/* Own parameters: the edge; the centre, what it reads, and two factors for each axis. */
KERNEL(filters_affine)(FILTERS_ARGUMENTS)
{
    GLOBAL(const uint) *own = p + at + FILTERS_OWN, *map = own + 2;
    float dx, dy, sx, sy;
    FILTERS_BEGIN
    dx = (float)out.x - AS_FLOAT(map[0]);
    dy = (float)out.y - AS_FLOAT(map[1]);
    sx = FMA(AS_FLOAT(map[5]), dy, AS_FLOAT(map[2]));
    sy = FMA(AS_FLOAT(map[7]), dy, AS_FLOAT(map[3]));
    sx = FMA(AS_FLOAT(map[4]), dx, sx);
    sy = FMA(AS_FLOAT(map[6]), dx, sy);
    FILTERS_END(filters_bilinear(in, own, sx, sy))
}

/* Own parameters: the edge; the centre, the distance of rows, and the weights of u and of its square. */
KERNEL(filters_radial)(FILTERS_ARGUMENTS)
{
    GLOBAL(const uint) *own = p + at + FILTERS_OWN, *map = own + 2;
    float cx = AS_FLOAT(map[0]), cy = AS_FLOAT(map[1]), dx, dy, down, u, scale;
    FILTERS_BEGIN
    dx = (float)out.x - cx;
    dy = (float)out.y - cy;
    down = dy * AS_FLOAT(map[2]);
    u = FMA(dx, dx, down * down);
    scale = FMA(u, FMA(u, AS_FLOAT(map[4]), AS_FLOAT(map[3])), 1.0f);
    FILTERS_END(filters_bilinear(in, own, FMA(dx, scale, cx), FMA(dy, scale, cy)))
}
