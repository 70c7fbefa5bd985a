/* What `probe.rs` compares with a core. Case i reads a[i], b[i] and c[i]; its result k is out[k * n + i]. */

KERNEL(probe_integer)(GLOBAL(const uint) *a, GLOBAL(const uint) *b, GLOBAL(const uint) *c, GLOBAL(uint) *out, uint n) {
    uint i = GID0;
    if (i >= n)
        return;
    uint x = a[i], y = b[i], z = c[i];
    ulong wide = (ulong)x << 32 | y;
    ulong product = wide * (wide ^ z) + x;
    ulong shifted = (wide >> (z & 63u)) ^ (wide << (x & 63u));
    ulong quotient = wide / ((ulong)z << 7 | 1u);
    out[i] = x + y * z;
    out[n + i] = (x << (y & 31u)) ^ (z >> (x & 31u));
    out[2 * n + i] = x / (y | 1u) ^ z % (y | 1u);
    out[3 * n + i] = (uint)((int)x >> (y & 31u)) ^ (uint)((int)x < (int)y);
    out[4 * n + i] = (uint)product;
    out[5 * n + i] = (uint)(product >> 32);
    out[6 * n + i] = (uint)shifted ^ (uint)(shifted >> 32);
    out[7 * n + i] = (uint)quotient ^ (uint)(quotient >> 32);
    out[8 * n + i] = POPCOUNT(x & ~y) + (uint)(wide < product);
}

/* Memory of a group, and sums that all threads add to. */
KERNEL(probe_shared)(GLOBAL(const uint) *a, GLOBAL(uint) *sums, GLOBAL(uint) *out, uint n) {
    LOCAL(uint) own[64];
    uint i = GID0;
    if (i >= n)
        return;
    uint x = a[i];
    own[THREAD0] = x;
    ATOMIC_ADD(sums + (x >> 26), x);
    out[i] = own[THREAD0] * 3u + GROUP0 * THREADS0;
}

KERNEL(probe_float)(GLOBAL(const uint) *a, GLOBAL(const uint) *b, GLOBAL(const uint) *c, GLOBAL(uint) *out, uint n) {
    uint i = GID0;
    if (i >= n)
        return;
    float x = AS_FLOAT(a[i]), y = AS_FLOAT(b[i]), z = AS_FLOAT(c[i]);
    out[i] = AS_UINT(x + y);
    out[n + i] = AS_UINT(x - y);
    out[2 * n + i] = AS_UINT(x * y);
    out[3 * n + i] = AS_UINT((x + y) - x);
    out[4 * n + i] = AS_UINT(x * y + z);
    out[5 * n + i] = AS_UINT(x * y - z * x);
    out[6 * n + i] = AS_UINT((x + y) + z);
    out[7 * n + i] = AS_UINT(x < y ? z : 1.0f - z);
    out[8 * n + i] = (uint)(x < y) | (uint)(x <= y) << 1 | (uint)(x == y) << 2 | (uint)(x != y) << 3;
}

KERNEL(probe_fma)(GLOBAL(const uint) *a, GLOBAL(const uint) *b, GLOBAL(const uint) *c, GLOBAL(uint) *out, uint n) {
    uint i = GID0;
    if (i >= n)
        return;
    float x = AS_FLOAT(a[i]), y = AS_FLOAT(b[i]), z = AS_FLOAT(c[i]);
    out[i] = AS_UINT(FMA(x, y, z));
    out[n + i] = AS_UINT(FMA(-x, y, z));
    out[2 * n + i] = AS_UINT(FMA(z, z, x) * y);
}

KERNEL(probe_divide)(GLOBAL(const uint) *a, GLOBAL(const uint) *b, GLOBAL(const uint) *c, GLOBAL(uint) *out, uint n) {
    uint i = GID0;
    if (i >= n)
        return;
    float x = AS_FLOAT(a[i]), y = AS_FLOAT(b[i]), z = AS_FLOAT(c[i]);
    out[i] = AS_UINT(x / y);
    out[n + i] = AS_UINT(1.0f / x);
    out[2 * n + i] = AS_UINT(z / 255.0f);
}

KERNEL(probe_sqrt)(GLOBAL(const uint) *a, GLOBAL(const uint) *b, GLOBAL(const uint) *c, GLOBAL(uint) *out, uint n) {
    uint i = GID0;
    if (i >= n)
        return;
    out[i] = AS_UINT(SQRT(AS_FLOAT(a[i])));
    out[n + i] = AS_UINT(SQRT(AS_FLOAT(b[i])));
    out[2 * n + i] = AS_UINT(SQRT(AS_FLOAT(c[i])));
}

KERNEL(probe_convert)(GLOBAL(const uint) *a, GLOBAL(const uint) *b, GLOBAL(const uint) *c, GLOBAL(uint) *out, uint n) {
    uint i = GID0;
    if (i >= n)
        return;
    uint x = a[i];
    /* Less than 65536, in steps of 1/256, and less than 256. */
    float wide = (float)(b[i] >> 8) * 0.00390625f;
    float byte = wide * 0.00390625f;
    out[i] = AS_UINT(FLOOR(AS_FLOAT(x)));
    out[n + i] = AS_UINT(RINT(AS_FLOAT(x)));
    out[2 * n + i] = AS_UINT(FLOOR(wide - 32768.0f));
    out[3 * n + i] = AS_UINT(RINT(wide - 32768.0f));
    out[4 * n + i] = AS_UINT((float)x);
    out[5 * n + i] = AS_UINT((float)(int)x);
    out[6 * n + i] = AS_UINT((float)(uchar)x);
    out[7 * n + i] = AS_UINT((float)(ushort)x);
    out[8 * n + i] = (uint)(int)(wide - 32768.0f);
    out[9 * n + i] = (uint)wide;
    out[10 * n + i] = (uint)(ushort)wide;
    out[11 * n + i] = (uint)(uchar)RINT(byte < 255.0f ? byte : 255.0f);
}
