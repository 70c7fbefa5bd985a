/* The kernel dialect in C, for tests: threads run one after the other. */
#include <math.h>
#include <string.h>

/* Not by typedef: the system's headers may have some of these names, with types of other sizes. */
#define uchar unsigned char
#define ushort unsigned short
#define uint unsigned int
#define ulong unsigned long long

static _Thread_local uint evener_group[2], evener_thread[2], evener_threads[2];

#define KERNEL(name) static void name
#define GLOBAL(T) T
#define LOCAL(T) static _Thread_local T
#define GROUP0 (evener_group[0])
#define GROUP1 (evener_group[1])
#define THREAD0 (evener_thread[0])
#define THREAD1 (evener_thread[1])
#define THREADS0 (evener_threads[0])
#define THREADS1 (evener_threads[1])
#define GID0 (GROUP0 * THREADS0 + THREAD0)
#define GID1 (GROUP1 * THREADS1 + THREAD1)
#define FMA(a, b, c) fmaf(a, b, c)
#define FLOOR(x) floorf(x)
#define SQRT(x) sqrtf(x)
#define RINT(x) rintf(x)
#define POPCOUNT(x) ((uint)__builtin_popcount(x))
#define ATOMIC_ADD(pointer, value) __atomic_fetch_add(pointer, value, __ATOMIC_RELAXED)
#define AS_FLOAT(u) evener_as_float(u)
#define AS_UINT(f) evener_as_uint(f)
#define BARRIER _Static_assert(0, "threads run one after the other here, so none can wait for another")

static inline float evener_as_float(uint bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint evener_as_uint(float value) {
    uint bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
