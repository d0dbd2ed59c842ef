// Counting in a local graph: where all that is left to bind lies in one short list, the edges among its vertices become a
// matrix of bits, and candidate sets become a few words (the local graphs of G2Miner §4.2; bitmaps as in the thesis §1.6).
//
// Special kernels only, which know the levels (`gdb/executor/gpu/local.py`) as constants. A warp fills the matrix and notes
// the pairs that its first two levels may be bound to; then each lane counts below one pair after another, for itself.

#include "tail.cuh"

#ifdef SPECIAL_LOCAL

// A set of positions in the list.
struct Positions {
    unsigned long long low, high;

    __device__ INLINE Positions operator&(const Positions& o) const { return {low & o.low, high & o.high}; }
    __device__ INLINE Positions without(const Positions& o) const { return {low & ~o.low, high & ~o.high}; }
    __device__ INLINE int size() const { return __popcll(low) + __popcll(high); }
    __device__ INLINE bool any() const { return (low | high) != 0; }
    // take the first one out
    __device__ INLINE int next() {
        if (low) {
            const int at = __ffsll(low) - 1;
            low &= low - 1;
            return at;
        }
        const int at = 64 + __ffsll(high) - 1;
        high &= high - 1;
        return at;
    }
};

static_assert(LOCAL_MOST == 128, "a set of positions has two words");

__device__ INLINE Positions before(int at) {
    return {at >= 64 ? ~0ULL : (1ULL << at) - 1, at <= 64 ? 0ULL : at >= 128 ? ~0ULL : (1ULL << (at - 64)) - 1};
}

struct LocalGraph {
    u32* filter;      // a bit for each residue of a vid, zero between lists
    u32* vids;        // [LOCAL_MOST]
    Positions* rows;  // [LOCAL_MOST]: the neighbours of each position; only those before it, where no others are read
    unsigned short* pairs;  // those that a pack has no room for
    int size;

    __device__ INLINE bool may_have(u32 x) const {
        const u32 bit = x & (LOCAL_FILTER_BITS - 1);
        return filter[bit >> 5] >> (bit & 31) & 1;
    }

    // Position of a vid, -1 where it is not in the list.
    __device__ INLINE int find(u32 x) const {
        int at = 0;
#pragma unroll
        for (int step = LOCAL_MOST / 2; step; step >>= 1)
            if (at + step <= size && vids[at + step - 1] < x) at += step;
        return at < size && vids[at] == x ? at : -1;
    }

    __device__ INLINE void join(int i, int j) const {
        u32* words = (u32*)(rows + i);
        atomicOr(words + (j >> 5), 1u << (j & 31));
    }
};

// What one lane counts below levels [0, E) of the local graph.
template <int E>
__device__ INLINE i64 count_local_level(const LocalGraph& g, const int (&at)[LOCAL_LEVELS], const Positions (&rows)[LOCAL_LEVELS]) {
    constexpr const long long* row = NEST_LOCAL + E * LOCAL_FIELDS;
    Positions found = before(g.size);
#pragma unroll
    for (int k = 0; k < E; ++k) {
        if (row[LOCAL_NEAR] >> k & 1) found = found & rows[k];
        if (row[LOCAL_BELOW] >> k & 1) found = found & before(at[k]);
        if (row[LOCAL_ABOVE] >> k & 1) found = found.without(before(at[k] + 1));
        if (row[LOCAL_DIFFERS] >> k & 1) found = found.without(before(at[k] + 1).without(before(at[k])));
    }
    if constexpr (E == LOCAL_LEVELS - 1) {
        double about = (double)found.size();
        return ways(found.size(), row[LOCAL_SIZE], row[LOCAL_FORMULA], about);
    } else {
        i64 total = 0;
        int here[LOCAL_LEVELS];
        Positions theirs[LOCAL_LEVELS];
#pragma unroll
        for (int k = 0; k < E; ++k) {
            here[k] = at[k];
            theirs[k] = rows[k];
        }
        ROLLED while (found.any()) {
            here[E] = found.next();
            theirs[E] = g.rows[here[E]];
            total += count_local_level<E + 1>(g, here, theirs);
        }
        return total;
    }
}

// With fewer vertices nothing is found: the first levels that are each next to all before them are a clique.
__device__ constexpr int least_local() {
    int n = 1;
    while (n < LOCAL_LEVELS && NEST_LOCAL[n * LOCAL_FIELDS + LOCAL_NEAR] == (1LL << n) - 1) ++n;
    return n;
}

// Rows longer than this are searched for where those vertices begin.
#define LOCAL_SEARCHED 256

// Embeddings of the levels from LOCAL_FIRST on, whose list must be no longer than LOCAL_MOST.
__device__ __noinline__ i64 count_local(const Worker& w, const Source& source, const Span& part, i64& spent) {
    if (source.span.size() < least_local()) return 0;
    u32* own = w.local;
    const Pack pack = {w.packed};
    LocalGraph g = {own, own + LOCAL_FILTER_BITS / 32, (Positions*)(own + LOCAL_FILTER_BITS / 32 + LOCAL_MOST),
                    (unsigned short*)(w.buffer + w.get(JOB_LOCAL_PAIRS)), 0};
    int begin = 0, end = 0;  // the part as positions in the list
    ROLLED for (at_t base = source.span.start; base < source.span.end; base += 32) {
        const at_t at = base + lane();
        const bool keep = at < source.span.end && accepts(w, LOCAL_FIRST, source, at);
        const u32 keepers = __ballot_sync(ALL_LANES, keep);
        if (keep) {
            const u32 x = ((const u32*)source.address)[at];
            const int position = g.size + __popc(keepers & lanes_before());
            g.vids[position] = x;
            g.rows[position] = {0, 0};
            const u32 bit = x & (LOCAL_FILTER_BITS - 1);
            atomicOr(g.filter + (bit >> 5), 1u << (bit & 31));
        }
        begin += __popc(__ballot_sync(ALL_LANES, keep && at < part.start));
        end += __popc(__ballot_sync(ALL_LANES, keep && at < part.end));
        g.size += __popc(keepers);
    }
    __syncwarp();
    const i64* view = w.view(LOCAL_VIEW);
    const auto near = neighbours(view);
    constexpr long long second_below = NEST_LOCAL[LOCAL_FIELDS + LOCAL_BELOW], second_above = NEST_LOCAL[LOCAL_FIELDS + LOCAL_ABOVE];
    const int rows = LOCAL_SYMMETRIC ? g.size : end;
    const i64 least = g.size ? (i64)g.vids[0] : 0;
    int pairs = 0;
    const auto note = [&](int i, int j) {  // i bound first, all lanes at once
        const u32 noted = __ballot_sync(ALL_LANES, i >= begin && i < end);
        if (i >= begin && i < end) {
            const int at = pairs + __popc(noted & lanes_before());
            (at < PACK_PAIRS ? pack.pairs() : g.pairs)[at] = (unsigned short)(i << 8 | j);
        }
        pairs += __popc(noted);
    };
    ROLLED for (int base = 0; base < rows; base += 32, ++spent) {
        const int mine = base + lane();
        const i64 x = mine < rows ? (i64)g.vids[mine] : 0;
        Span row = mine < rows ? row_slice(view, x, 0, x) : Span{0, 0};
        if (row.size() > LOCAL_SEARCHED) row.start = lower_bound(row_list(view, row), row.start, row.end, least);
        each_hit(
            pack, row, [&](at_t at) { return near[at]; }, [&](u32 y) { return g.may_have(y); },
            [&](int owner, u32 y, bool active) {
                const int i = base + owner, j = active ? g.find(y) : -1;
                if (!__any_sync(ALL_LANES, j >= 0)) return;
                if (j >= 0) {
                    g.join(i, j);
                    if (LOCAL_SYMMETRIC) g.join(j, i);
                }
                if (!second_above) note(j < 0 ? -1 : i, j);
                if (!second_below) note(j, i);
            },
            spent);
    }
    __syncwarp();
    i64 total = 0;
    ROLLED for (int t = lane(); t < pairs; t += 32) {
        int at[LOCAL_LEVELS];
        Positions chosen[LOCAL_LEVELS];
        const int pair = (t < PACK_PAIRS ? pack.pairs() : g.pairs)[t];
        at[0] = pair >> 8;
        at[1] = pair & 255;
        chosen[0] = g.rows[at[0]];
        chosen[1] = g.rows[at[1]];
        total += count_local_level<2>(g, at, chosen);
    }
    spent += pairs / 8;
    __syncwarp();
    ROLLED for (int k = lane(); k < g.size; k += 32) g.filter[(g.vids[k] & (LOCAL_FILTER_BITS - 1)) >> 5] = 0;
    __syncwarp();
    return pairs ? warp_sum(total) : 0;
}

#endif
