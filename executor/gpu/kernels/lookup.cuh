// Searches: in ascending lists of vids, and in the interval index of a view (geneva-tpds §4.1).
//
// Two kinds of functions: `warp_*` are called by all 32 lanes of a warp together and give every lane the same answer; the
// others are called by each lane for itself. No list is __restrict__: sets are written and read within one launch, and a
// restricted pointer would be read through the non-coherent cache.

typedef long long i64;
typedef unsigned int u32;
typedef unsigned char u8;

#define ALL_LANES 0xffffffffu

__device__ inline int lane() { return threadIdx.x & 31; }

__device__ inline u32 lanes_before() { return (1u << lane()) - 1u; }

// A half-open range of positions in a list.
struct Span {
    i64 start, end;
};

// First position in [start, end) whose value is >= x.
__device__ inline i64 lower_bound(const u32* list, i64 start, i64 end, i64 x) {
    while (start < end) {
        const i64 middle = (start + end) >> 1;
        if ((i64)list[middle] < x) start = middle + 1;
        else end = middle;
    }
    return start;
}

// The same by the whole warp: 32 probes a round, so a row of 1000 takes 2 dependent loads instead of 10.
__device__ inline i64 warp_lower_bound(const u32* list, i64 start, i64 end, i64 x) {
    while (start < end) {
        const i64 step = (end - start + 31) / 32;
        const i64 probe = start + step * (lane() + 1) - 1;
        const bool less = probe < end && (i64)list[probe] < x;
        start += step * __popc(__ballot_sync(ALL_LANES, less));
        end = min(end, start + step - 1);
    }
    return start;
}

__device__ inline bool has_bit(const u8* bits, i64 x) { return bits[x >> 3] >> (x & 7) & 1; }

__device__ inline const u32* neighbours(const i64* view) { return (const u32*)view[VIEW_NEIGHBOURS]; }

// The row that interval `k` - 1 gives a vid, k being the first interval that begins after it; empty where it has none.
__device__ inline Span row_of_interval(const i64* view, i64 k, i64 vid) {
    if (k == 0) return {0, 0};
    const i64 step = vid - ((const u32*)view[VIEW_FIRST])[k - 1];
    if (step >= ((const u32*)view[VIEW_LENGTH])[k - 1]) return {0, 0};
    const i64* offsets = (const i64*)view[VIEW_OFFSETS] + ((const u32*)view[VIEW_ROW])[k - 1] + step;
    return {offsets[0], offsets[1]};
}

__device__ inline Span find_row(const i64* view, i64 vid) {
    const i64 k = lower_bound((const u32*)view[VIEW_FIRST], 0, view[VIEW_INTERVALS], vid + 1);
    return row_of_interval(view, k, vid);
}

__device__ inline Span warp_find_row(const i64* view, i64 vid) {
    const i64 k = warp_lower_bound((const u32*)view[VIEW_FIRST], 0, view[VIEW_INTERVALS], vid + 1);
    return row_of_interval(view, k, vid);
}
