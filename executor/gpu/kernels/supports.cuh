// Supports: in how many triangles each edge is. A pattern that is an edge and alike vertices next to both its ends is a sum over
// edges of a formula of these (`gdb/executor/nest/by_edge.py`); the kernel of the triangles finds each of them once, and here
// each is noted for its three edges. An edge is known by the position in the view at which its lower end is a neighbour of its
// upper one. Where the view is resident each position has a counter beside it. Where it runs in passes the triangles are written
// to page-locked memory of the host, and after the last pass counted for the positions of one range after another.

#include "tail.cuh"

#ifdef LOCAL_SUPPORTS

// Note a triangle of each active lane; all lanes at once.
__device__ INLINE void note_triangle(const Worker& w, bool active, at_t one, at_t other, at_t third) {
    u32* supports = (u32*)w.get(JOB_SUPPORTS);
    if (supports) {
        if (!active) return;
        atomicAdd(supports + one, 1u);
        atomicAdd(supports + other, 1u);
        atomicAdd(supports + third, 1u);
        return;
    }
    const u32 some = __ballot_sync(ALL_LANES, active);
    u64 at = 0;
    if (lane() == 0 && some) at = atomicAdd((unsigned long long*)w.get(JOB_TRIANGLES_FOUND), (unsigned long long)__popc(some));
    at = __shfl_sync(ALL_LANES, at, 0) + __popc(some & lanes_before());
    if (!active || at >= (u64)w.get(JOB_TRIANGLES_MOST)) return;
    u32* edges = (u32*)w.get(JOB_TRIANGLES) + 3 * at;
    edges[0] = (u32)one, edges[1] = (u32)other, edges[2] = (u32)third;
}

#endif

#ifndef SPECIAL

// Add triangles to the supports of `size` positions from `start` on, in half a word or a whole one each. edges: the positions of so
// many edges, three for each triangle.
extern "C" __global__ void add_supports(const u32* edges, i64 count, i64 start, i64 size, i64 halves, u32* supports, u64* sums) {
    ROLLED for (i64 k = (i64)blockIdx.x * blockDim.x + threadIdx.x; k < count; k += (i64)gridDim.x * blockDim.x) {
        const i64 at = (i64)edges[k] - start;
        if (at < 0 || at >= size) continue;
        if (!halves) {
            atomicAdd(supports + at, 1u);
            continue;
        }
        const int shift = (at & 1) * 16;
        const u32 before = atomicAdd(supports + at / 2, 1u << shift);
        if ((before >> shift & 0xffff) == 0xffff) sums[SUM_CARRIED] = 1;
    }
}

// Add up in how many ways so many alike vertices are bound to the triangles of each position's edge.
extern "C" __global__ void sum_supports(const u32* supports, i64 positions, i64 halves, i64 size, i64 formula, u64* sums) {
    i64 total = 0;
    double near = 0.0;
    const auto add = [&](u32 support) {
        if (!support) return;
        double about = (double)support;
        total += ways(support, size, formula, about);
        near += about;
    };
    const i64 words = halves ? (positions + 1) / 2 : positions;
    ROLLED for (i64 k = (i64)blockIdx.x * blockDim.x + threadIdx.x; k < words; k += (i64)gridDim.x * blockDim.x) {
        const u32 word = supports[k];
        add(halves ? word & 0xffff : word);
        if (halves) add(word >> 16);
    }
    if (near > LARGEST_COUNT) {
        sums[SUM_LARGE] = 1;
        total = 0;
    }
    const i64 low = warp_sum((i64)((u64)total & 0xffffffffULL)), high = warp_sum((i64)((u64)total >> 32));
    if (lane() == 0 && (low || high)) {
        atomicAdd((unsigned long long*)sums + SUM_LOW, (unsigned long long)low);
        atomicAdd((unsigned long long*)sums + SUM_HIGH, (unsigned long long)high);
    }
}
#endif
