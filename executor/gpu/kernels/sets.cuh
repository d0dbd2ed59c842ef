// Set operations of one warp on ascending lists of vids. A list (a row of a view) may repeat a value, a result never does.

#include "lookup.cuh"

// A list and the part of it that counts.
struct List {
    const u32* values;
    Span span;

    __device__ i64 size() const { return span.size(); }
};

// Write to `out` the distinct values of `a` that are (WANTED) or are not in `b` and that are in `bits` (null: any);
// returns how many. Each lane takes one element of `a` and searches `b`; survivors are packed in order by ballot.
template <bool WANTED>
__device__ INLINE i64 sift(const List& a, const List& b, const u8* bits, u32* out) {
    i64 kept = 0, from = b.span.start;
    ROLLED for (at_t base = a.span.start; base < a.span.end; base += 32) {
        const at_t at = base + lane();
        const bool active = at < a.span.end;
        // idle lanes search for more than any vid, so that lane 31 always ends furthest
        const i64 x = active ? (i64)a.values[at] : 1LL << 32;
        const i64 found = lower_bound(b.values, from, b.span.end, x);
        const bool held = found < b.span.end && b.values[found] == x;
        const bool keep = active && held == WANTED && (at == a.span.start || a.values[at - 1] != x) &&
                          (!bits || has_bit(bits, x));
        const u32 keepers = __ballot_sync(ALL_LANES, keep);
        if (keep) out[kept + __popc(keepers & lanes_before())] = (u32)x;
        kept += __popc(keepers);
        from = __shfl_sync(ALL_LANES, found, 31);
        if (WANTED && from == b.span.end) break;
    }
    __syncwarp();
    return kept;
}

__device__ INLINE i64 intersect(const List& a, const List& b, const u8* bits, u32* out) {
    return a.size() <= b.size() ? sift<true>(a, b, bits, out) : sift<true>(b, a, bits, out);
}

__device__ INLINE i64 subtract(const List& a, const List& b, const u8* bits, u32* out) {
    return sift<false>(a, b, bits, out);
}
