// One warp at work: where its state lies, and what the rows of the tables mean to it.

#include "sets.cuh"

__device__ INLINE i64 own_number() { return ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32; }

// Numbers of a warp: what it does (all lanes agree on every member) and where its state lies.
struct Worker {
    const i64* job;
    i64* state;  // in shared memory: WARP_FIELDS numbers, LEVEL_ARRAYS arrays of a number for each level, the sets' lengths
    i64* tail;   // in shared memory: TAIL_FIELDS numbers for each node of the tail
    u32* filters;  // in shared memory: JOB_FILTER_BITS bits for each MARK of the tail
    u32* local;    // in shared memory: OWN_WORDS u32, for a local graph or sets of bits
    u32* packed;   // in shared memory: PACK_WORDS u32, where a special kernel reads many rows at once
    u32* buffer;
    u8* scratch;
    i64 levels;

    __device__ INLINE i64 get(int field) const {
#ifdef SPECIAL
        switch (field) { SPECIAL_NUMBERS }
#endif
        return job[field];
    }
    __device__ INLINE const i64* table(int field) const {
#ifdef SPECIAL
        switch (field) { SPECIAL_TABLES }
#endif
        return (const i64*)job[field];
    }
    __device__ const i64* level(i64 d) const { return table(JOB_LEVELS) + d * LEVEL_FIELDS; }
    __device__ const i64* view(i64 k) const { return job + JOB_FIELDS + k * VIEW_FIELDS; }
    __device__ const u8* bits(i64 k) const { return k < 0 ? nullptr : (const u8*)table(JOB_BITS)[k]; }
    __device__ i64 ref(i64 r) const { return table(JOB_REFS)[r]; }
    __device__ const i64* node(i64 c) const { return table(JOB_NODES) + c * NODE_FIELDS; }
    __device__ i64& at(int array, i64 d) const { return state[WARP_FIELDS + array * levels + d]; }
    __device__ i64& set_length(i64 s) const { return at(LEVEL_ARRAYS, s); }
    __device__ i64 v(i64 d) const { return at(AT_V, d); }
    // the vertex of level k for a lane that tries x at level d
    __device__ i64 v(i64 k, i64 d, i64 x) const { return k == d ? x : v(k); }
};

// A warp's own room in shared memory for local graphs (`Worker::local`, `Worker::packed`), not read from a `Worker`: of what has
// been in one the compiler does not know which memory it is, and reads through the general instruction, which takes longer.
struct Room {
    u32 *local, *packed;
};

// Where a level's elements are: vids of a list, or edge ids at positions of a view.
struct Source {
    i64 address;
    Span span;
};

// Which work unit of all this device's unit of a number is.
__device__ INLINE i64 shared_unit(const Worker& w, i64 number) {
    if (w.get(JOB_SHARES) == 1) return number;
    const i64 run = w.get(JOB_RUN);
    return (number / run * w.get(JOB_SHARES) + w.get(JOB_SHARE)) * run + number % run;
}

// Where the part begins and ends that a work unit is about, of so many elements: a unit is one part of a root's neighbours, so
// that those of a hub go to many warps.
__device__ INLINE Range part_of(const i64* first, i64 unit, i64 size, i64 more = 0) {
    const i64 parts = first[1] - first[0], part = unit - first[0];
    if (parts == 1) return {0, size};  // a division of 64 bits takes as long as to read a list
    return {size * part / parts, size * (part + 1 + more) / parts};
}

__device__ INLINE Range unit_range(const Worker& w, i64 size) {
    const i64 unit = w.state[WARP_UNIT];
    i64 more = 0;
#ifdef COLD
    more = w.state[WARP_MERGED];
#endif
    return part_of(w.table(JOB_FIRST_UNIT) + ((const u32*)w.get(JOB_UNIT_ROOTS))[unit], unit, size, more);
}

// The part of a list of level 1; in a pass, what of it lies in the pass's range of vids.
__device__ INLINE Span unit_part(const Worker& w, i64 address, Span span) {
    const Range part = unit_range(w, span.size());
    const Span found = {span.start + part.start, span.start + part.end};
#ifdef COLD
    if (w.get(JOB_IN_PASSES)) return warp_clip((const u32*)address, found, w.get(JOB_PASS_START), w.get(JOB_PASS_END));
#endif
    return found;
}

#ifdef COLD
// The rows of the roots of a batch of units (`passes.cuh`), four arrays of a number for each unit: where the row starts and
// ends in the whole view, its split, and where its neighbours begin in the copy that follows; -1: they are not there.
__device__ INLINE i64* window(const Worker& w, int field) {
    return (i64*)w.get(JOB_WINDOWS) + own_number() * (WINDOW_FIELDS * 32 + w.get(JOB_WINDOW_VIDS) / 2) + field * 32;
}

__device__ INLINE u32* window_vids(const Worker& w) { return (u32*)window(w, WINDOW_FIELDS); }

// The row of the unit's root, cut as `row_side` cuts; positions are those of the whole view.
__device__ INLINE List root_row(const Worker& w, const i64* view, Range range) {
    const i64 slot = w.state[WARP_SLOT] - 1, vid = w.v(0), start = window(w, WINDOW_START)[slot];
    Span found = {start, window(w, WINDOW_END)[slot]};
    if (view[VIEW_SPLIT] && range.end <= vid) found.end = (at_t)window(w, WINDOW_SPLIT)[slot];
    else if (view[VIEW_SPLIT] && range.start > vid) found.start = (at_t)window(w, WINDOW_SPLIT)[slot];
    const i64 at = window(w, WINDOW_COPY)[slot];
    return {at >= 0 ? window_vids(w) + (at - start) : row_list(view, {start, start}), found};
}
#endif

// The vid range that a level or set is cut to, given the vertices bound so far; `lo`, `below`, `above` name columns.
PART Range bounds(const Worker& w, const i64* row, int lo, int below, int above) {
    Range range = {row[lo], row[lo + 1]};
    UNROLLED for (i64 r = row[below]; r < row[below + 1]; ++r) range.end = min(range.end, w.v(w.ref(r)));
    UNROLLED for (i64 r = row[above]; r < row[above + 1]; ++r) range.start = max(range.start, w.v(w.ref(r)) + 1);
    return range;
}

// The list, row or computed set that the three columns from `field` name, cut to a range of vids.
PART List operand(const Worker& w, const i64* row, int field, Range range) {
    const i64 a = row[field + 1];
    List list = {w.buffer, {0, 0}};
#ifdef COLD
    if (row[field] == KIND_ROW && row[field + 2] == 0 && w.state[WARP_SLOT]) {
        list = root_row(w, w.view(a), range);
    } else
#endif
    if (row[field] == KIND_ROW) {
        list.span = row_side(w.view(a), w.v(row[field + 2]), range.start, range.end);
        list.values = row_list(w.view(a), list.span);
    } else if (row[field] == KIND_SET) {
        const i64 start = w.table(JOB_SETS)[a * SET_FIELDS + SET_OFFSET];
        list.span = {start, start + w.set_length(a)};
    } else {
        list = {(const u32*)w.table(JOB_LISTS)[2 * a], {0, w.table(JOB_LISTS)[2 * a + 1]}};
    }
    return {list.values, warp_clip(list.values, list.span, range.start, range.end)};
}

#ifdef SPECIAL_BITS  // `bits.cuh`
__device__ void open_frame(const Worker& w);
__device__ bool compute_bits(const Worker& w, i64 d, i64& spent);
#endif

// Run the set operations that depend on level d; false if one that is needed came out empty. Adds the rounds it took to
// `spent`.
PART bool compute_sets(const Worker& w, i64 d, i64& spent) {
#ifdef SPECIAL_BITS
    if (d == BITS_FRAME) open_frame(w);
    const bool in_bits = d >= BITS_FRAME && w.state[WARP_BITS];
    if (in_bits && !compute_bits(w, d, spent)) return false;
#endif
    UNROLLED for (i64 s = w.level(d)[LEVEL_SET]; s < w.level(d)[LEVEL_SET_END]; ++s) {
#ifdef SPECIAL_BITS
        if (in_bits && NEST_SKIPPED[s]) continue;
#endif
        const i64* row = w.table(JOB_SETS) + s * SET_FIELDS;
        const Range range = bounds(w, row, SET_LO, SET_BELOW, SET_ABOVE);
        const List a = operand(w, row, SET_LEFT, range);
        const List b = operand(w, row, SET_RIGHT, range);
        const u8* bits = w.bits(row[SET_BITS]);
        u32* out = w.buffer + row[SET_OFFSET];
        const i64 n = row[SET_OP] == OP_INTERSECT ? intersect(a, b, bits, out) : subtract(a, b, bits, out);
        if (lane() == 0) w.set_length(s) = n;
        __syncwarp();
        spent += 4 + (row[SET_OP] == OP_INTERSECT ? min(a.size(), b.size()) : a.size()) / 16;
        if (n == 0 && !row[SET_OPTIONAL]) return false;
    }
    return true;
}

// What level d loops over.
PART Source enter(const Worker& w, i64 d) {
    const i64* row = w.level(d);
    if (row[LEVEL_IS_EDGE]) {  // BASE_A view, BASE_B source level, LO target level
        const i64* view = w.view(row[LEVEL_BASE_A]);
        const i64 y = w.v(row[LEVEL_LO]);
        const Span found = find_row(view, w.v(row[LEVEL_BASE_B]));
        return {view[VIEW_EIDS], warp_clip(row_list(view, found), found, y, y + 1)};
    }
    const List list = operand(w, row, LEVEL_BASE, bounds(w, row, LEVEL_LO, LEVEL_BELOW, LEVEL_ABOVE));
    return {(i64)list.values, list.span};
}

__device__ INLINE i64 element(const i64* row, i64 address, at_t at) {
    return row[LEVEL_IS_EDGE] ? ((const i64*)address)[at] : (i64)((const u32*)address)[at];
}

// Whether level `row` may meet a neighbour twice in a row, because its view has parallel edges, and binds it once.
__device__ INLINE bool repeats(const i64* row) { return row[LEVEL_FLAGS] & FLAG_REPEATS; }

// Whether the values of two levels differ by what comparison `check` says. Values and bounds are the job's: a special kernel
// serves others as well.
__device__ INLINE bool compares(const Worker& w, i64 d, i64 x, const i64* check) {
    const i64* both = (const i64*)w.get(JOB_VALUES) + check[CHECK_C] * VALUE_FIELDS;
    const i64 left = ((const i64*)both[VALUE_LEFT])[w.v(check[CHECK_A], d, x)];
    const i64 right = ((const i64*)both[VALUE_RIGHT])[w.v(check[CHECK_B], d, x)];
    if (left == MISSING || right == MISSING) return false;
    const i64 difference = right - left;  // cannot overflow: `plan.Compare`
    const bool within = both[VALUE_LEAST] <= difference && difference <= both[VALUE_MOST];
    return within == (check[CHECK_TEST] == TEST_WITHIN);
}

__device__ INLINE bool passes(const Worker& w, i64 d, i64 x, const i64* check) {
    if (check[CHECK_TEST] >= TEST_WITHIN) return compares(w, d, x, check);
    if (check[CHECK_TEST] == TEST_PAIRS) {
        const i64 a = w.v(check[CHECK_A], d, x), b = w.v(check[CHECK_B], d, x);
        const i64 c = w.v(check[CHECK_C], d, x), e = w.v(check[CHECK_D], d, x);
        return !((a == c && b == e) || (check[CHECK_E] && a == e && b == c));
    }
    const i64* view = w.view(check[CHECK_A]);  // B source, C target, D least, E most
    const Span row = find_row(view, w.v(check[CHECK_B], d, x));
    const i64 y = w.v(check[CHECK_C], d, x);
    const u32* list = row_list(view, row);
    i64 held = 0;
    ROLLED for (i64 at = lower_bound(list, row.start, row.end, y); at < row.end && list[at] == y && held <= check[CHECK_E]; ++at)
        ++held;
    return check[CHECK_D] <= held && held <= check[CHECK_E];
}

// Whether level d binds element x (each lane its own), found in its source.
PART bool admits(const Worker& w, i64 d, i64 x) {
    const i64* row = w.level(d);
    UNROLLED for (i64 r = row[LEVEL_DIFFERS]; r < row[LEVEL_DIFFERS_END]; ++r)
        if (w.v(w.ref(r)) == x) return false;
    const u8* bits = w.bits(row[LEVEL_BITS]);
    if (bits && !has_bit(bits, x)) return false;
    if (row[LEVEL_IS_EDGE]) {
        UNROLLED for (i64 r = row[LEVEL_ABOVE]; r < row[LEVEL_ABOVE_END]; ++r)
            if (x <= w.v(w.ref(r))) return false;
    }
    UNROLLED for (i64 c = row[LEVEL_CHECK]; c < row[LEVEL_CHECK_END]; ++c)
        if (!passes(w, d, x, w.table(JOB_CHECKS) + c * CHECK_FIELDS)) return false;
    return true;
}

// The same for the element at a position of the source; of equal elements only the first counts.
__device__ INLINE bool accepts(const Worker& w, i64 d, const Source& source, at_t at) {
    const i64* row = w.level(d);
    const i64 x = element(row, source.address, at);
    if (repeats(row) && at > source.span.start && ((const u32*)source.address)[at - 1] == x) return false;
    return admits(w, d, x);
}
