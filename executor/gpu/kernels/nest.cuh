// The generic nest interpreter: one warp walks a nest given as tables (gdb/executor/tables.py), depth first.
//
// At each level the warp tests 32 elements of the level's list at a time and keeps the survivors as a mask; it then goes
// deeper with one survivor after another, or, at the last level, counts or writes them all at once. Its whole state lies in
// an array, so it may stop at any step and go on in another launch.

#include "sets.cuh"

// Numbers of a warp: what it does (all lanes agree on every member) and where its state lies.
struct Worker {
    const i64* job;
    i64* state;  // in shared memory: WARP_FIELDS numbers, LEVEL_ARRAYS arrays of a number for each level, the sets' lengths
    u32* buffer;
    i64 levels;

    __device__ i64 get(int field) const { return job[field]; }
    __device__ const i64* table(int field) const { return (const i64*)job[field]; }
    __device__ const i64* level(i64 d) const { return table(JOB_LEVELS) + d * LEVEL_FIELDS; }
    __device__ const i64* view(i64 k) const { return table(JOB_VIEWS) + k * VIEW_FIELDS; }
    __device__ const u8* bits(i64 k) const { return k < 0 ? nullptr : (const u8*)table(JOB_BITS)[k]; }
    __device__ i64 ref(i64 r) const { return table(JOB_REFS)[r]; }
    __device__ i64& at(int array, i64 d) const { return state[WARP_FIELDS + array * levels + d]; }
    __device__ i64& set_length(i64 s) const { return at(LEVEL_ARRAYS, s); }
    __device__ i64 v(i64 d) const { return at(AT_V, d); }
    // the vertex of level k for a lane that tries x at level d
    __device__ i64 v(i64 k, i64 d, i64 x) const { return k == d ? x : v(k); }
};

// Where a level's elements are: vids of a list, or edge ids at positions of a view.
struct Source {
    i64 address;
    Span span;
};

// The vid range that a level or set is cut to, given the vertices bound so far; `lo`, `below`, `above` name columns.
__device__ inline Span bounds(const Worker& w, const i64* row, int lo, int below, int above) {
    Span range = {row[lo], row[lo + 1]};
    for (i64 r = row[below]; r < row[below + 1]; ++r) range.end = min(range.end, w.v(w.ref(r)));
    for (i64 r = row[above]; r < row[above + 1]; ++r) range.start = max(range.start, w.v(w.ref(r)) + 1);
    return range;
}

// The list, row or computed set that the three columns from `field` name.
__device__ inline List operand(const Worker& w, const i64* row, int field) {
    const i64 a = row[field + 1];
    switch (row[field]) {
        case KIND_ROW: return {neighbours(w.view(a)), warp_find_row(w.view(a), w.v(row[field + 2]))};
        case KIND_SET: {
            const i64 start = w.table(JOB_SETS)[a * SET_FIELDS + SET_OFFSET];
            return {w.buffer, {start, start + w.set_length(a)}};
        }
        default: return {(const u32*)w.table(JOB_LISTS)[2 * a], {0, w.table(JOB_LISTS)[2 * a + 1]}};
    }
}

// Run the set operations that hang on level d; false if one came out empty. Adds the rounds it took to `spent`.
__device__ inline bool compute_sets(const Worker& w, i64 d, i64& spent) {
    for (i64 s = w.level(d)[LEVEL_SET]; s < w.level(d)[LEVEL_SET_END]; ++s) {
        const i64* row = w.table(JOB_SETS) + s * SET_FIELDS;
        const Span range = bounds(w, row, SET_LO, SET_BELOW, SET_ABOVE);
        const List a = cut(operand(w, row, SET_LEFT), range.start, range.end);
        const List b = cut(operand(w, row, SET_RIGHT), range.start, range.end);
        const u8* bits = w.bits(row[SET_BITS]);
        u32* out = w.buffer + row[SET_OFFSET];
        const i64 n = row[SET_OP] == OP_INTERSECT ? intersect(a, b, bits, out) : subtract(a, b, bits, out);
        if (lane() == 0) w.set_length(s) = n;
        __syncwarp();
        spent += 4 + (row[SET_OP] == OP_INTERSECT ? min(a.size(), b.size()) : a.size()) / 16;
        if (n == 0) return false;
    }
    return true;
}

// What level d loops over.
__device__ inline Source enter(const Worker& w, i64 d) {
    const i64* row = w.level(d);
    if (row[LEVEL_IS_EDGE]) {  // BASE_A view, BASE_B source level, LO target level
        const i64* view = w.view(row[LEVEL_BASE_A]);
        const i64 y = w.v(row[LEVEL_LO]);
        const List near = {neighbours(view), warp_find_row(view, w.v(row[LEVEL_BASE_B]))};
        return {view[VIEW_EIDS], cut(near, y, y + 1).span};
    }
    const Span range = bounds(w, row, LEVEL_LO, LEVEL_BELOW, LEVEL_ABOVE);
    const List list = cut(operand(w, row, LEVEL_BASE), range.start, range.end);
    return {(i64)list.values, list.span};
}

__device__ inline i64 element(const i64* row, i64 address, i64 at) {
    return row[LEVEL_IS_EDGE] ? ((const i64*)address)[at] : (i64)((const u32*)address)[at];
}

// Whether level `row` may meet a neighbour twice in a row, because its view has parallel edges.
__device__ inline bool repeats(const Worker& w, const i64* row) {
    return !row[LEVEL_IS_EDGE] && row[LEVEL_BASE] == KIND_ROW && !w.table(JOB_SIMPLE)[row[LEVEL_BASE_A]];
}

__device__ inline bool passes(const Worker& w, i64 d, i64 x, const i64* check) {
    if (check[CHECK_IS_PAIRS]) {
        const i64 a = w.v(check[CHECK_A], d, x), b = w.v(check[CHECK_B], d, x);
        const i64 c = w.v(check[CHECK_C], d, x), e = w.v(check[CHECK_D], d, x);
        return !((a == c && b == e) || (check[CHECK_E] && a == e && b == c));
    }
    const i64* view = w.view(check[CHECK_A]);  // B source, C target, D least, E most
    const Span row = find_row(view, w.v(check[CHECK_B], d, x));
    const i64 y = w.v(check[CHECK_C], d, x);
    i64 held = 0;
    for (i64 at = lower_bound(neighbours(view), row.start, row.end, y);
         at < row.end && neighbours(view)[at] == y && held <= check[CHECK_E]; ++at)
        ++held;
    return check[CHECK_D] <= held && held <= check[CHECK_E];
}

// Whether level d binds element x (each lane its own), found in its source.
__device__ inline bool admits(const Worker& w, i64 d, i64 x) {
    const i64* row = w.level(d);
    for (i64 r = row[LEVEL_DIFFERS]; r < row[LEVEL_DIFFERS_END]; ++r)
        if (w.v(w.ref(r)) == x) return false;
    const u8* bits = w.bits(row[LEVEL_BITS]);
    if (bits && !has_bit(bits, x)) return false;
    if (row[LEVEL_IS_EDGE]) {
        for (i64 r = row[LEVEL_ABOVE]; r < row[LEVEL_ABOVE_END]; ++r)
            if (x <= w.v(w.ref(r))) return false;
        return true;
    }
    for (i64 c = row[LEVEL_CHECK]; c < row[LEVEL_CHECK_END]; ++c)
        if (!passes(w, d, x, w.table(JOB_CHECKS) + c * CHECK_FIELDS)) return false;
    return true;
}

// The same for the element at a position of the source, of which only the first of its kind counts.
__device__ inline bool accepts(const Worker& w, i64 d, const Source& source, i64 at) {
    const i64* row = w.level(d);
    const i64 x = element(row, source.address, at);
    if (repeats(w, row) && at > source.span.start && ((const u32*)source.address)[at - 1] == x) return false;
    return admits(w, d, x);
}

// Whether the length of level d's source, less the vertices it must differ from, is the number of its elements.
__device__ inline bool is_plain(const Worker& w, const i64* row) {
    if (row[LEVEL_BITS] >= 0 || row[LEVEL_CHECK] != row[LEVEL_CHECK_END] || repeats(w, row)) return false;
    return !row[LEVEL_IS_EDGE] ||
           (row[LEVEL_DIFFERS] == row[LEVEL_DIFFERS_END] && row[LEVEL_ABOVE] == row[LEVEL_ABOVE_END]);
}

// Number of elements that level d would bind.
__device__ inline i64 count_level(const Worker& w, i64 d, i64& spent) {
    const i64* row = w.level(d);
    const Source source = enter(w, d);
    i64 n = 0;
    ++spent;
    if (!is_plain(w, row)) {
        for (i64 base = source.span.start; base < source.span.end; base += 32, ++spent) {
            const i64 at = base + lane();
            n += __popc(__ballot_sync(ALL_LANES, at < source.span.end && accepts(w, d, source, at)));
        }
        return n;
    }
    n = source.span.end - source.span.start;
    for (i64 r = row[LEVEL_DIFFERS]; n > 0 && r < row[LEVEL_DIFFERS_END]; ++r) {
        const i64 x = w.v(w.ref(r));
        bool again = false;  // homomorphic vertices may coincide: take each off once
        for (i64 q = row[LEVEL_DIFFERS]; q < r; ++q) again = again || w.v(w.ref(q)) == x;
        if (again) continue;
        const u32* list = (const u32*)source.address;
        const i64 at = warp_lower_bound(list, source.span.start, source.span.end, x);
        n -= at < source.span.end && list[at] == x;
    }
    return n;
}

// Number of vids that levels d and e would both bind.
__device__ inline i64 count_common(const Worker& w, i64 d, i64 e, i64& spent) {
    i64 fewer = d;
    Source few = enter(w, d), many = enter(w, e);
    if (many.span.end - many.span.start < few.span.end - few.span.start) {
        const Source other = few;
        few = many;
        many = other;
        fewer = e;
    }
    const u32* list = (const u32*)many.address;
    i64 n = 0;
    for (i64 base = few.span.start; base < few.span.end; base += 32, ++spent) {
        const i64 at = base + lane();
        bool common = at < few.span.end && accepts(w, fewer, few, at);
        if (common) {
            const i64 x = ((const u32*)few.address)[at];
            const i64 found = lower_bound(list, many.span.start, many.span.end, x);
            common = found < many.span.end && list[found] == x && admits(w, d + e - fewer, x);
        }
        n += __popc(__ballot_sync(ALL_LANES, common));
    }
    return n;
}

// |A| |B| - |A & B| for levels d and e: counted as if free of one another, less the pairs that are one vertex.
__device__ inline bool count_pair(const Worker& w, i64 d, i64 e, i64& ways, double& approximate, i64& spent) {
    const i64 n = count_level(w, d, spent), other = n > 0 ? count_level(w, e, spent) : 0;
    approximate = (double)n * (double)other;
    if (approximate > LARGEST_COUNT) return false;
    ways = n * other - (other > 0 ? count_common(w, d, e, spent) : 0);
    return true;
}

// How often a group of k vertices can be bound to n candidates; false where it may exceed 2^63.
__device__ inline bool count_alike(i64 n, i64 k, i64 formula, i64& ways, double& approximate) {
    for (i64 i = 0; i < k; ++i) {
        const i64 left = formula == FORMULA_POWER ? n : max(n - i, 0LL);
        approximate *= (double)left;
        if (approximate > LARGEST_COUNT) return false;
        ways *= left;
        if (formula == FORMULA_BINOMIAL) {
            ways /= i + 1;
            approximate /= (double)(i + 1);
        }
    }
    return true;
}

// The product of the groups' formulas; false where it may exceed 2^63 (a double follows along to see that).
__device__ inline bool count_groups(const Worker& w, i64& total, i64& spent) {
    total = 1;
    double shadow = 1.0;
    for (i64 g = 0; g < w.get(JOB_GROUP_COUNT); ++g) {
        const i64 d = w.table(JOB_GROUPS)[g];
        const i64 formula = w.level(d)[LEVEL_FORMULA];
        i64 ways = 1;
        double approximate = 1.0;
        const bool fits = formula == FORMULA_PAIR
                              ? count_pair(w, d, w.table(JOB_GROUPS)[g + 1], ways, approximate, spent)
                              : count_alike(count_level(w, d, spent), w.level(d)[LEVEL_SIZE], formula, ways, approximate);
        if (!fits) return false;
        if (formula == FORMULA_PAIR) ++g;  // the next group was the other of the pair
        shadow *= approximate;
        if (shadow > LARGEST_COUNT) return false;
        total *= ways;
        if (total == 0) return true;
    }
    return true;
}

// Take the next work unit and stand before its root; false when none is left.
__device__ inline bool take_unit(const Worker& w) {
    i64 unit = 0;
    if (lane() == 0)
        unit = (i64)atomicAdd((unsigned long long*)w.get(JOB_HEADER) + HEADER_NEXT, 1ULL);
    unit = __shfl_sync(ALL_LANES, unit, 0);
    if (unit >= w.get(JOB_UNITS)) return false;
    __syncwarp();
    if (lane() == 0) {
        w.state[WARP_UNIT] = unit;
        if (w.get(JOB_LOOPS) > 0) {
            const i64 root = ((const u32*)w.get(JOB_UNIT_ROOTS))[unit];
            w.at(AT_ADDRESS, 0) = w.get(JOB_ROOTS);
            w.at(AT_POSITION, 0) = w.at(AT_START, 0) = root;
            w.at(AT_END, 0) = root + 1;
            w.at(AT_MASK, 0) = 0;
        }
    }
    __syncwarp();
    return true;
}

// Stand before the elements of level d > 0. A unit is one part of a root's level 1, so that the many neighbours of a hub go
// to many warps; the start stays that of the whole list, where a repeated neighbour begins.
__device__ inline void open_level(const Worker& w, i64 d) {
    const Source source = enter(w, d);
    i64 position = source.span.start, end = source.span.end;
    if (d == 1) {
        const i64 unit = w.state[WARP_UNIT];
        const i64* first = w.table(JOB_FIRST_UNIT) + ((const u32*)w.get(JOB_UNIT_ROOTS))[unit];
        const i64 parts = first[1] - first[0], part = unit - first[0], size = end - position;
        end = position + size * (part + 1) / parts;
        position += size * part / parts;
    }
    __syncwarp();
    if (lane() == 0) {
        w.at(AT_ADDRESS, d) = source.address;
        w.at(AT_POSITION, d) = position;
        w.at(AT_START, d) = source.span.start;
        w.at(AT_END, d) = end;
        w.at(AT_MASK, d) = 0;
    }
    __syncwarp();
}

// Mask of the elements of level d that are still to be bound, out of the 32 before AT_POSITION; looks at the next 32 when
// there are none. `done` tells that the list has come to its end.
__device__ inline u32 survivors(const Worker& w, i64 d, bool& done) {
    u32 mask = (u32)w.at(AT_MASK, d);
    done = false;
    if (mask) return mask;
    const i64 position = w.at(AT_POSITION, d), end = w.at(AT_END, d);
    done = position >= end;
    if (done) return 0;
    const Source source = {w.at(AT_ADDRESS, d), {w.at(AT_START, d), end}};
    const i64 at = position + lane();
    mask = __ballot_sync(ALL_LANES, at < end && accepts(w, d, source, at));
    __syncwarp();
    if (lane() == 0) {
        w.at(AT_POSITION, d) = position + 32;
        w.at(AT_MASK, d) = mask;
    }
    __syncwarp();
    return mask;
}

// Bind the first survivor of level d.
__device__ inline void bind_next(const Worker& w, i64 d, u32 mask) {
    const i64 x = element(w.level(d), w.at(AT_ADDRESS, d), w.at(AT_POSITION, d) - 32 + __ffs(mask) - 1);
    __syncwarp();
    if (lane() == 0) {
        w.at(AT_V, d) = x;
        w.at(AT_MASK, d) = mask & (mask - 1);
    }
    __syncwarp();
}

__device__ inline void write_row(const Worker& w, i64 d, i64 x, i64 r) {
    for (i64 k = 0; k <= d; ++k) {
        const i64* row = w.level(k);
        const i64 value = w.v(k, d, x);
        if (row[LEVEL_IS_EDGE])
            ((i64*)w.get(JOB_OUT_EIDS))[r * w.get(JOB_EID_COLUMNS) + row[LEVEL_COLUMN]] = value;
        else
            ((u32*)w.get(JOB_OUT_VIDS))[r * w.get(JOB_VID_COLUMNS) + row[LEVEL_COLUMN]] = (u32)value;
    }
}

// Write a row for each survivor of the last level d, as many as there is room for; whether all were written. The counter of
// rows may pass the capacity: every row below it is written, by the warp that drew its number.
__device__ inline bool emit(const Worker& w, i64 d, u32 mask) {
    i64 first = 0;
    if (lane() == 0)
        first = (i64)atomicAdd((unsigned long long*)w.get(JOB_HEADER) + HEADER_ROWS, (unsigned long long)__popc(mask));
    first = __shfl_sync(ALL_LANES, first, 0);
    const bool mine = mask >> lane() & 1;
    const i64 r = first + __popc(mask & lanes_before());
    const bool fits = r < w.get(JOB_CAPACITY);
    if (mine && fits)
        write_row(w, d, element(w.level(d), w.at(AT_ADDRESS, d), w.at(AT_POSITION, d) - 32 + lane()), r);
    const u32 left = __ballot_sync(ALL_LANES, mine && !fits);
    __syncwarp();
    if (lane() == 0) w.at(AT_MASK, d) = left;
    __syncwarp();
    return left == 0;
}

__device__ inline unsigned long long nanoseconds() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

// When a launch ends: after so many steps of a warp (tests), or at a time (which every warp looks at now and then).
struct Limits {
    i64 steps;
    unsigned long long until;
    i64 looked;

    __device__ bool over(i64 spent) {
        if (spent > steps) return true;
        if (spent - looked < 256) return false;
        looked = spent;
        return __any_sync(ALL_LANES, nanoseconds() > until);
    }
};

// Walk on from the warp's state until there is no unit left or something stops it; returns the status.
__device__ inline int walk(const Worker& w, Limits limits) {
    const i64 loops = w.get(JOB_LOOPS);
    const bool counting = w.get(JOB_COUNTING), grouped = counting && w.get(JOB_GROUP_COUNT) > 0;
    i64 d = w.state[WARP_DEPTH], total = w.state[WARP_TOTAL], spent = 0;
    bool entering = w.state[WARP_ENTERING];
    int status = STATUS_DONE;
    for (;;) {
        if (limits.over(spent)) {
            status = STATUS_YIELDED;
            break;
        }
        if (d < 0) {
            if (!take_unit(w)) break;
            d = 0;
            entering = true;
        }
        ++spent;
        if (entering) {
            entering = false;
            if (grouped && d == loops) {
                i64 n;
                if (!count_groups(w, n, spent) || total > 0x7fffffffffffffffLL - n) {
                    status = STATUS_OVERFLOW;
                    break;
                }
                total += n;
                --d;
                continue;
            }
            if (d > 0) open_level(w, d);
        }
        bool done;
        const u32 mask = survivors(w, d, done);
        if (done) --d;
        if (mask == 0) continue;
        if (d + 1 < loops || grouped) {
            bind_next(w, d, mask);
            if (!compute_sets(w, d, spent)) continue;
            ++d;
            entering = true;
        } else if (counting) {  // no set hangs on a last level: nothing would read it
            total += __popc(mask);
            __syncwarp();
            if (lane() == 0) w.at(AT_MASK, d) = 0;
            __syncwarp();
        } else if (!emit(w, d, mask)) {
            status = STATUS_FULL;
            break;
        }
    }
    __syncwarp();
    if (lane() == 0) {
        w.state[WARP_DEPTH] = d;
        w.state[WARP_ENTERING] = entering;
        w.state[WARP_TOTAL] = total;
    }
    __syncwarp();
    return status;
}
