/* The kernel dialect in OpenCL C 1.2, which has its types. */
#pragma OPENCL FP_CONTRACT OFF

#define KERNEL(name) __kernel void name
#define GLOBAL(T) __global T
#define LOCAL(T) __local T
#define GROUP0 ((uint)get_group_id(0))
#define GROUP1 ((uint)get_group_id(1))
#define THREAD0 ((uint)get_local_id(0))
#define THREAD1 ((uint)get_local_id(1))
#define THREADS0 ((uint)get_local_size(0))
#define THREADS1 ((uint)get_local_size(1))
#define GID0 ((uint)get_global_id(0))
#define GID1 ((uint)get_global_id(1))
#define FMA(a, b, c) fma((float)(a), (float)(b), (float)(c))
#define FLOOR(x) floor((float)(x))
#define SQRT(x) sqrt((float)(x))
#define RINT(x) rint((float)(x))
#define POPCOUNT(x) popcount((uint)(x))
#define ATOMIC_ADD(pointer, value) atomic_add((volatile __global uint *)(pointer), (uint)(value))
#define AS_FLOAT(u) as_float((uint)(u))
#define AS_UINT(f) as_uint((float)(f))
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
