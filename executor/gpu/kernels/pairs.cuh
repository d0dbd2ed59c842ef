// Matching patterns 1 to 7 where rows are written (geneva-tpds §5.2 to §5.4): the last two loops of a nest as one, over pairs
// of elements of their lists, where neither list depends on the other loop. A list is often shorter than a warp is wide; the
// pairs of two such lists fill it.
//
// The pairs belong to the first of the two levels, numbered from 0, as if they were the elements of its list: so warps stop,
// go on and give work away as at any other level. Its START is still that of its own list; the second level's START and END
// are its list's.

#include "worker.cuh"

struct Pair {
    at_t first, second;  // positions in the two lists
};

// The first of the two levels, -1 where each loop runs for itself.
__device__ INLINE i64 pair_level(const Worker& w) { return w.get(JOB_PAIRS) ? w.get(JOB_LOOPS) - 2 : -1; }

// Turn level k, which was just opened over a list of m elements, into pairs, unless the second list alone keeps a warp busy.
PART void open_pairs(const Worker& w, i64 k, i64 m) {
    const i64 how = w.get(JOB_PAIRS);
    if (lane() == 0) {
        w.state[WARP_PAIRED] = 0;
        w.at(AT_V, k) = -1;  // above which is everything
    }
    __syncwarp();
    const Source second = enter(w, k + 1);
    const i64 n = second.span.size();
    if (n > PAIRS_MOST || m > 1 << 22) return;  // so that 32 bits number the pairs
    Range part = {0, how & PAIRS_SAME ? n * (n - 1) / 2 : m * n};
    if (k == 1) part = unit_range(w, part.end);
    __syncwarp();
    if (lane() == 0) {
        w.state[WARP_PAIRED] = 1;
        w.at(AT_POSITION, k) = part.start;
        w.at(AT_END, k) = part.end;
        w.at(AT_ADDRESS, k + 1) = second.address;
        w.at(AT_START, k + 1) = second.span.start;
        w.at(AT_END, k + 1) = second.span.end;
    }
    __syncwarp();
}

// The pair of a number. Of one list these are all i < j: its rows i and n - 1 - i (n - 2 - i where n is odd) together are
// as long as every other two, so that they make a rectangle.
__device__ INLINE Pair pair_at(const Worker& w, i64 k, i64 number) {
    const i64 how = w.get(JOB_PAIRS);
    const u32 n = (u32)(w.at(AT_END, k + 1) - w.at(AT_START, k + 1)), columns = how & PAIRS_SAME ? n - 1 + (n & 1) : n;
    u32 i = (u32)number / columns, j = (u32)number % columns;
    if (how & PAIRS_SAME) {
        const u32 odd = n & 1;
        if (j >= i + odd) {
            j += 1 - odd;
        } else {
            i = n - 1 - odd - i;
            j = n - 1 - j;
        }
    }
    return {(at_t)(w.at(AT_START, k) + i), (at_t)(w.at(AT_START, k + 1) + j)};
}

__device__ INLINE i64 first_of(const Worker& w, i64 k, Pair pair) {
    return ((const u32*)w.at(AT_ADDRESS, k))[pair.first];
}

__device__ INLINE i64 second_of(const Worker& w, i64 k, Pair pair) {
    return ((const u32*)w.at(AT_ADDRESS, k + 1))[pair.second];
}

// Whether levels k and k + 1 bind this pair.
__device__ INLINE bool accepts_pair(const Worker& w, i64 k, Pair pair) {
    const i64 how = w.get(JOB_PAIRS), x = first_of(w, k, pair), y = second_of(w, k, pair);
    if (how & PAIRS_ABOVE && !(how & PAIRS_SAME) && y <= x) return false;
    const Source first = {w.at(AT_ADDRESS, k), {w.at(AT_START, k), 0}};
    const Source second = {w.at(AT_ADDRESS, k + 1), {w.at(AT_START, k + 1), 0}};
    if (!accepts(w, k, first, pair.first)) return false;
    const i64* row = w.level(k + 1);
    if (repeats(row) && pair.second > second.span.start && ((const u32*)second.address)[pair.second - 1] == y)
        return false;
    UNROLLED for (i64 r = row[LEVEL_DIFFERS]; r < row[LEVEL_DIFFERS_END]; ++r)
        if (w.v(w.ref(r), k, x) == y) return false;
    const u8* bits = w.bits(row[LEVEL_BITS]);
    return !bits || has_bit(bits, y);
}

// As `survivors`, of pairs.
PART u32 surviving_pairs(const Worker& w, i64 k, bool& done) {
    u32 mask = (u32)w.at(AT_MASK, k);
    done = false;
    if (mask) return mask;
    const i64 position = w.at(AT_POSITION, k), end = w.at(AT_END, k), number = position + lane();
    done = position >= end;
    if (done) return 0;
    mask = __ballot_sync(ALL_LANES, number < end && accepts_pair(w, k, pair_at(w, k, number)));
    __syncwarp();
    if (lane() == 0) {
        w.at(AT_POSITION, k) = position + 32;
        w.at(AT_MASK, k) = mask;
    }
    __syncwarp();
    return mask;
}
