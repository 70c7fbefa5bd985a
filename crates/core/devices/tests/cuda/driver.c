/* A driver of CUDA that is none: its device is this process. Kernels are those of the dialect, compiled with it, by
   their names. CUDA_FAULT says what goes wrong: init, none, memory, ptx, launch, hang, lost, copy. */
#include <stdint.h>
#include <stdlib.h>
#include "prelude.c"
#include "probe.c"
#include "sample.c"

static int fault(const char *name) {
    const char *set = getenv("CUDA_FAULT");
    return set && strcmp(set, name) == 0;
}

struct event {
    int recorded;
    /* Whether a kernel is before it. */
    int kernel;
};

static int kernels;

int cuInit(unsigned flags) { return fault("init") ? 999 : fault("none") ? 100 : flags ? 1 : 0; }
int cuDriverGetVersion(int *version) { return *version = 12040, 0; }
int cuGetErrorString(int code, const char **text) {
    return *text = code == 700 ? "an illegal memory access was encountered" : "made up", 0;
}
int cuDeviceGetCount(int *count) { return *count = 2, fault("none") ? 100 : 0; }
int cuDeviceGet(int *device, int index) { return *device = 40 + index, 0; }
int cuDeviceGetName(char *name, int length, int device) {
    return strncpy(name, device == 40 ? "Pretended A1" : "Pretended B2", length), 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) { return *bytes = (size_t)device << 30, 0; }
int cuDeviceGetAttribute(int *value, int what, int device) {
    (void)device;
    return *value = what == 75 ? 7 : what == 76 ? 5 : what == 40 ? 3 : 0, 0;
}
int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) { return (void)device, flags == 4 ? 0 : 1; }
int cuDevicePrimaryCtxRetain(void **context, int device) { return *context = (void *)(intptr_t)device, 0; }

static _Thread_local void *current;
int cuCtxSetCurrent(void *context) { return current = context, 0; }
#define NEEDS_CONTEXT do { if (!current) return 201; } while (0)

int cuModuleLoadDataEx(void **module, const void *ptx, unsigned count, int *options, void **values) {
    NEEDS_CONTEXT;
    if (fault("ptx")) {
        if (count == 2 && options[0] == 5 && options[1] == 6 && (size_t)values[1] > 20)
            strcpy(values[0], "\nptxas: line 7\nmore");
        return 218;
    }
    return *module = (void *)ptx, 0;
}

int cuModuleGetFunction(void **function, void *module, const char *name) {
    static const char *names[] = {"probe_integer", "probe_shared", "probe_float", "probe_fma", "probe_divide",
                                  "probe_sqrt", "probe_convert", "sample_mix"};
    (void)module;
    NEEDS_CONTEXT;
    for (int i = 0; i < 8; i++)
        if (strcmp(names[i], name) == 0)
            return *function = (void *)names[i], 0;
    return 500;
}

int cuStreamCreate(void **stream, unsigned flags) {
    NEEDS_CONTEXT;
    return *stream = malloc(1), flags == 1 ? 0 : 1;
}
int cuStreamDestroy_v2(void *stream) { return free(stream), 0; }
int cuEventCreate(void **event, unsigned flags) {
    NEEDS_CONTEXT;
    return *event = calloc(1, sizeof(struct event)), flags == 3 ? 0 : 1;
}
int cuEventRecord(struct event *event, void *stream) {
    (void)stream;
    NEEDS_CONTEXT;
    event->recorded = 1;
    event->kernel = kernels > 0;
    return 0;
}
int cuEventQuery(struct event *event) {
    NEEDS_CONTEXT;
    if (event->recorded && event->kernel && fault("hang"))
        return 600;
    if (event->recorded && event->kernel && fault("lost"))
        return 700;
    kernels = 0;
    return 0;
}
/* Whoever waits for a kernel that hangs waits for ever; a test would see that the process ended. */
int cuEventSynchronize(struct event *event) {
    NEEDS_CONTEXT;
    if (event->recorded && event->kernel && (fault("hang") || fault("lost")))
        abort();
    return 0;
}
int cuEventDestroy_v2(void *event) { return free(event), 0; }

int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    NEEDS_CONTEXT;
    if (fault("memory") || bytes > (size_t)1 << 40)
        return 2;
    return *address = (uint64_t)(uintptr_t)malloc(bytes), 0;
}
int cuMemFree_v2(uint64_t address) {
    if (kernels)
        abort();
    return free((void *)(uintptr_t)address), 0;
}
static int locked;
int cuMemHostRegister_v2(void *start, size_t bytes, unsigned flags) {
    (void)flags;
    NEEDS_CONTEXT;
    /* Locked memory can be read. */
    volatile char first = *(char *)start, last = ((char *)start)[bytes - 1];
    (void)first, (void)last;
    return locked++, 0;
}
int cuMemHostUnregister(void *start) {
    NEEDS_CONTEXT;
    volatile char first = *(char *)start;
    (void)first;
    if (!locked--)
        abort();
    return 0;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
    (void)stream;
    NEEDS_CONTEXT;
    return memcpy((void *)(uintptr_t)to, from, bytes), 0;
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
    (void)stream;
    NEEDS_CONTEXT;
    if (fault("copy"))
        return 700;
    return memcpy(to, (void *)(uintptr_t)from, bytes), 0;
}

#define P(i) (*(void **)arguments[i])
#define N(i) (*(uint *)arguments[i])
#define OVER_CASES(name) \
    if (strcmp(kernel, #name) == 0) \
        name(P(0), P(1), P(2), P(3), N(4))

int cuLaunchKernel(const char *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned tx, unsigned ty, unsigned tz,
                   unsigned shared, void *stream, void **arguments, void **extra) {
    (void)stream;
    NEEDS_CONTEXT;
    if (fault("launch"))
        return 701;
    if (gz != 1 || tz != 1 || shared || extra)
        return 1;
    kernels++;
    evener_threads[0] = tx;
    evener_threads[1] = ty;
    for (evener_group[1] = 0; evener_group[1] < gy; evener_group[1]++)
    for (evener_group[0] = 0; evener_group[0] < gx; evener_group[0]++)
    for (evener_thread[1] = 0; evener_thread[1] < ty; evener_thread[1]++)
    for (evener_thread[0] = 0; evener_thread[0] < tx; evener_thread[0]++) {
        OVER_CASES(probe_integer);
        OVER_CASES(probe_float);
        OVER_CASES(probe_fma);
        OVER_CASES(probe_divide);
        OVER_CASES(probe_sqrt);
        OVER_CASES(probe_convert);
        if (strcmp(kernel, "probe_shared") == 0)
            probe_shared(P(0), P(1), P(2), N(3));
        if (strcmp(kernel, "sample_mix") == 0)
            sample_mix(P(0), P(1), P(2), *(float *)arguments[3], *(int *)arguments[4], N(5));
    }
    return 0;
}
