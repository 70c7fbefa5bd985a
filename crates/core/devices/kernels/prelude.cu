/* The kernel dialect in CUDA C++, for NVRTC. */
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long long ulong;

#define KERNEL(name) extern "C" __global__ void name
#define GLOBAL(T) T
#define LOCAL(T) __shared__ T
#define GROUP0 (blockIdx.x)
#define GROUP1 (blockIdx.y)
#define THREAD0 (threadIdx.x)
#define THREAD1 (threadIdx.y)
#define THREADS0 (blockDim.x)
#define THREADS1 (blockDim.y)
#define GID0 (GROUP0 * THREADS0 + THREAD0)
#define GID1 (GROUP1 * THREADS1 + THREAD1)
#define FMA(a, b, c) __fmaf_rn(a, b, c)
#define FLOOR(x) floorf(x)
#define SQRT(x) __fsqrt_rn(x)
#define RINT(x) rintf(x)
#define POPCOUNT(x) ((uint)__popc(x))
#define ATOMIC_ADD(pointer, value) atomicAdd(pointer, value)
#define AS_FLOAT(u) __uint_as_float(u)
#define AS_UINT(f) __float_as_uint(f)
#define BARRIER __syncthreads()
