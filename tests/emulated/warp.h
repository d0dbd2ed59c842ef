// CUDA's warps on one thread of a CPU, as far as the files of executor/gpu/kernels need them: each lane is a fiber, which runs
// until the lanes of its warp meet (a shuffle, a vote, __syncwarp), and all must meet at the same place. Between two meetings
// lanes run one after another, upwards or downwards, so that what no meeting orders comes in two orders.
#include <sys/mman.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <type_traits>
#include <vector>
#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__

struct uint4 {
    unsigned x, y, z, w;
};

// Save the registers that a call must keep, and go on where another fiber did the same.
extern "C" void switch_fiber(void** from, void* to);
#if defined __x86_64__
asm(".text\n.globl switch_fiber\nswitch_fiber:\n push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
    " mov %rsp,(%rdi)\n mov %rsi,%rsp\n pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n");
#else
#error "fibers are written for x86-64"
#endif

struct Dimension {
    unsigned x;
};

struct Fiber {
    void* stack;
    bool ended;
};

struct EmulatedWarp {
    Fiber lanes[32];
    uint64_t given[32], met[32];
    int line[32];
    bool rests;
    long long* shared;
    unsigned block, first;
};

static EmulatedWarp* own_warp;
static int own_lane;
static void* scheduler;
static Dimension block_size, grid_size;
static bool downwards;

#define threadIdx (Dimension{own_warp->first + own_lane})
#define blockIdx (Dimension{own_warp->block})
#define blockDim block_size
#define gridDim grid_size

static void meet(uint64_t value, int line) {
    own_warp->given[own_lane] = value;
    own_warp->line[own_lane] = line;
    switch_fiber(&own_warp->lanes[own_lane].stack, scheduler);
}

template <class T>
static uint64_t as_bits(T value) {
    static_assert(sizeof(T) <= 8, "what a shuffle takes");
    uint64_t found = 0;
    memcpy(&found, &value, sizeof(T));
    return found;
}

template <class T>
static T met_from(int lane, T) {
    T found;
    memcpy(&found, &own_warp->met[lane & 31], sizeof(T));
    return found;
}

template <class T>
static T shuffled(T value, int lane, int line) {
    meet(as_bits(value), line);
    return met_from(lane, value);
}

static unsigned voted(bool value, int line) {
    meet(value, line);
    unsigned found = 0;
    for (int k = 0; k < 32; ++k) found |= (unsigned)(own_warp->met[k] != 0) << k;
    return found;
}

static unsigned added(unsigned value, int line) {
    meet(value, line);
    unsigned found = 0;
    for (int k = 0; k < 32; ++k) found += (unsigned)own_warp->met[k];
    return found;
}

#define __shfl_sync(mask, value, lane) shuffled(value, lane, __LINE__)
#define __shfl_up_sync(mask, value, step) shuffled(value, own_lane >= (step) ? own_lane - (step) : own_lane, __LINE__)
#define __shfl_xor_sync(mask, value, step) shuffled(value, own_lane ^ (step), __LINE__)
#define __ballot_sync(mask, value) voted(value, __LINE__)
#define __any_sync(mask, value) (voted(value, __LINE__) != 0)
#define __reduce_add_sync(mask, value) added(value, __LINE__)
#define __syncwarp() meet(0, __LINE__)

static int __popc(unsigned x) { return __builtin_popcount(x); }
static int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static int __ffs(unsigned x) { return __builtin_ffs((int)x); }
static int __ffsll(long long x) { return __builtin_ffsll(x); }
static int __clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
static unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
    return (unsigned)((((uint64_t)high << 32) | low) >> (by & 31));
}
static unsigned shifted_left(unsigned x, int by) { return by > 31 ? 0u : x << by; }

template <class T, class U>
static T atomicAdd(T* at, U more) {
    const T old = *at;
    *at = old + (T)more;
    return old;
}
template <class T, class U>
static T atomicOr(T* at, U bits) {
    const T old = *at;
    *at = old | (T)bits;
    return old;
}
template <class T, class U>
static T atomicAnd(T* at, U bits) {
    const T old = *at;
    *at = old & (T)bits;
    return old;
}
template <class T, class U>
static T atomicExch(T* at, U value) {
    const T old = *at;
    *at = (T)value;
    return old;
}
static void __threadfence() {}
static void __nanosleep(int) {  // others are to run
    own_warp->rests = true;
    meet(0, 0);
}

static unsigned long long clock_nanoseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

template <class A, class B>
static std::common_type_t<A, B> min(A a, B b) {
    using Common = std::common_type_t<A, B>;
    return (Common)a < (Common)b ? (Common)a : (Common)b;
}
template <class A, class B>
static std::common_type_t<A, B> max(A a, B b) {
    using Common = std::common_type_t<A, B>;
    return (Common)a > (Common)b ? (Common)a : (Common)b;
}

// ---- running a grid ------------------------------------------------------------------------------------------------------

struct Body {
    void (*run)(void*);
    void* arguments;
};
static Body body;

static void run_lane() {
    body.run(body.arguments);
    own_warp->lanes[own_lane].ended = true;
    switch_fiber(&own_warp->lanes[own_lane].stack, scheduler);
    abort();
}

constexpr size_t STACK_BYTES = 128 << 10;
constexpr int TURN = 400;  // meetings of a warp before the next has its turn

static char* stack_of(size_t fiber) {
    static std::vector<char*> stacks;
    while (stacks.size() <= fiber)
        stacks.push_back((char*)mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    return stacks[fiber];
}

static void begin(EmulatedWarp& warp, size_t number) {
    warp.rests = false;
    for (int k = 0; k < 32; ++k) {
        void** top = (void**)(stack_of(number * 32 + k) + STACK_BYTES - 64);
        *--top = nullptr;
        *--top = (void*)run_lane;
        for (int r = 0; r < 6; ++r) *--top = nullptr;  // registers
        warp.lanes[k] = {top, false};
    }
}

// Have each lane run until it meets the others; how many have ended.
static int step(EmulatedWarp& warp) {
    int ended = 0;
    for (int i = 0; i < 32; ++i) {
        const int k = downwards ? 31 - i : i;
        if (!warp.lanes[k].ended) {
            own_warp = &warp;
            own_lane = k;
            switch_fiber(&scheduler, warp.lanes[k].stack);
        }
        ended += warp.lanes[k].ended;
    }
    return ended;
}

static bool all_at_one_place(const EmulatedWarp& warp, int ended) {
    for (int k = 1; k < 32; ++k)
        if (ended || warp.line[k] != warp.line[0]) {
            fprintf(stderr, "lanes meet at lines %d and %d, %d have ended\n", warp.line[0], warp.line[k], ended);
            return false;
        }
    return true;
}

// 0, or 1 where lanes of a warp do not meet.
static int run_grid(int blocks, int threads, size_t shared_bytes, Body what) {
    const int warps_in_block = threads / 32;
    body = what;
    grid_size = {(unsigned)blocks};
    block_size = {(unsigned)threads};
    std::vector<EmulatedWarp> warps(blocks * warps_in_block);
    std::vector<std::vector<long long>> shared(blocks);
    for (auto& one : shared) one.assign(shared_bytes / 8 + 8, 0x5555555555555555LL);  // unwritten memory
    for (size_t k = 0; k < warps.size(); ++k) {
        const size_t block = k / warps_in_block;
        warps[k].block = (unsigned)block;
        warps[k].first = (unsigned)(k % warps_in_block * 32);
        warps[k].shared = (long long*)(((uintptr_t)shared[block].data() + 15) / 16 * 16);
        begin(warps[k], k);
    }
    std::vector<bool> over(warps.size());
    for (size_t left = warps.size(); left;) {
        for (size_t k = 0; k < warps.size(); ++k) {
            warps[k].rests = false;
            for (int turn = 0; turn < TURN && !warps[k].rests && !over[k]; ++turn) {
                const int ended = step(warps[k]);
                over[k] = ended == 32;
                left -= over[k];
                if (over[k]) break;
                if (!all_at_one_place(warps[k], ended)) return 1;
                memcpy(warps[k].met, warps[k].given, sizeof warps[k].met);
            }
        }
    }
    return 0;
}
