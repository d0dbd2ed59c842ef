// Passes: of a graph that does not fit, a range of rows at a time lies in device memory, and level 1 is bound to the vids whose
// rows they are (`executor/gpu/unit_passes.py`). A warp draws a batch of work units, leaves out those that have nothing in the range,
// and copies the rows of their roots from page-locked memory into its window: each is read through the link once, in whole
// lines, however often the units come to it. A batch is several groups of neighbouring units, a STRIDE of groups apart: of those
// of a hub, which are heavy, it has few.

#include "tail.cuh"

#ifdef COLD

// The number of a batch's unit.
__device__ INLINE i64 number_in(const Worker& w, i64 batch, i64 slot) {
    const i64 group = w.get(JOB_GROUP);
    return (batch + slot / group * w.get(JOB_STRIDE)) * group + slot % group;
}

// What `mark_passes` has written of a unit (`unit_passes.MarkBits`): from the lowest bit on a bit for each pass; where the root's
// row begins; for the first passes, in a byte each, how many of the row are below the end of the pass's range; and how long the
// row is. All ones: more than there are bits for. So what a pass reads through the link of a root is its row alone, or a part.
struct UnitMark {
    u64 bits;
    i64 passes, starts, cuts;  // bits of the first two; no bits of the second: there is no row. Bytes

    __device__ INLINE u64 of_passes() const { return passes < 64 ? bits & ((1ULL << passes) - 1) : bits; }
    __device__ INLINE i64 length_at() const { return passes + starts + 8 * cuts; }
    __device__ INLINE i64 longest() const { return (i64)(~0ULL >> length_at()); }

    // The row in a view, of this number.
    __device__ INLINE Span row(const i64* view, i64 number) const {
        const i64 start = (i64)(bits >> passes & ((1ULL << starts) - 1));
        const i64 length = starts ? (i64)(bits >> length_at()) : 0;
        if (starts && length < longest()) return {start, start + length};
        const i64* offsets = row_offsets(view, number);
        return {offsets[0], offsets[1]};
    }

    // How many of the row are below the end of a pass's range, 255 or more where that is not known.
    __device__ INLINE i64 below(i64 pass) const { return pass < cuts ? (i64)(bits >> (passes + starts + 8 * pass) & 255) : 255; }
};

__device__ INLINE UnitMark mark_of(const Worker& w, i64 unit) {
    return {((const u64*)w.get(JOB_MARKS))[unit], w.get(JOB_PASS_BITS), w.get(JOB_START_BITS), w.get(JOB_CUTS)};
}

// A bit for each root whose list a last pass has to count in (`local.cuh`).
__device__ INLINE u32* list_mark(const Worker& w, u32 root) { return (u32*)w.get(JOB_LOCAL_LISTS) + root / 32; }

// A bit for each of a batch's units that has something to do in this pass.
__device__ INLINE u32 active_units(const Worker& w, i64 batch) {
    const i64 number = number_in(w, batch, lane()), pass = w.get(JOB_PASS);
    bool active = lane() < w.get(JOB_BATCH) && number < w.get(JOB_UNITS);
    if (active) {
        const i64 unit = shared_unit(w, number);
        if (pass >= 0) {
            active = mark_of(w, unit).of_passes() >> pass & 1;
        } else {
            const u32 root = ((const u32*)w.get(JOB_UNIT_ROOTS))[unit];
            active = *list_mark(w, root) >> (root & 31) & 1;
        }
    }
    return __ballot_sync(ALL_LANES, active);
}

#ifdef LOCAL_IN_PASSES  // a local graph has the rows of all its units' roots

__device__ INLINE u32 open_batch(const Worker& w, i64 batch) { return active_units(w, batch); }
__device__ INLINE void fill_again(const Worker&, i64, u32) {}
__device__ INLINE i64 window_slot(i64) { return 0; }
__device__ INLINE u32 same_root(const Worker&, u32, i64 slot) { return 1u << slot; }

#else

__device__ INLINE i64 window_slot(i64 slot) { return slot + 1; }

// The last lane whose range begins at or before a place.
__device__ INLINE int range_of(int begin, int place) {
    int owner = 0;
#pragma unroll
    for (int step = 16; step; step >>= 1)
        if (__shfl_sync(ALL_LANES, begin, owner + step) <= place) owner += step;
    return owner;
}

// Copy a range of each lane, end to end: `begin` is where that of a lane begins in `out`, or the next one's, `shift` what is to
// be added to have its position. Some reads of a lane are under way at once: each takes as long as the link does.
__device__ __noinline__ void copy_ranges(const Neighbours& from, i64 shift, int begin, int size, u32* out) {
    ROLLED for (int base = 0; base < size; base += 32 * COPY_AHEAD) {
        u32 some[COPY_AHEAD];
#pragma unroll
        for (int k = 0; k < COPY_AHEAD; ++k) {
            const int to = min(base + 32 * k + lane(), size - 1);
            some[k] = from[(at_t)(__shfl_sync(ALL_LANES, shift, range_of(begin, to)) + to)];
        }
#pragma unroll
        for (int k = 0; k < COPY_AHEAD; ++k)
            if (base + 32 * k + lane() < size) out[base + 32 * k + lane()] = some[k];
    }
}

// Copy the rows of units of a batch, a bit each, to the window: of the first, until there is no room for the next. A row that
// is longer than the window is not there.
__device__ __noinline__ void fill_window(const Worker& w, i64 batch, u32 found) {
    const bool active = found >> lane() & 1;
    const i64 unit = active ? shared_unit(w, number_in(w, batch, lane())) : 0, *view = w.view(0);
    i64 start = 0, end = 0, vid = 0, row = 0;
    if (active) {
        vid = ((const u32*)w.get(JOB_ROOTS))[((const u32*)w.get(JOB_UNIT_ROOTS))[unit]];
        row = row_number(view, vid);
        const Span whole = mark_of(w, unit).row(view, row);
        start = whole.start, end = whole.end;
    }
    const Neighbours near = neighbours(view);
    u32* vids = window_vids(w);
    const i64 room = w.get(JOB_WINDOW_VIDS);
    int used = 0, begin = 0, at = -1;  // begin: where the copy of this lane's row begins, or that of the next
    i64 last = -1;
    bool full = false;
    ROLLED for (u32 left = found; left; left &= left - 1) {
        const int owner = __ffs(left) - 1;
        const i64 from = __shfl_sync(ALL_LANES, start, owner), length = __shfl_sync(ALL_LANES, end, owner) - from;
        full = full || (from != last && length <= room && used + length > room);
        const bool copied = from != last && length <= room && !full;
        if (from != last) at = copied ? used : -1;  // else it has the root of the one before
        last = from;
        if (copied) used += (int)length;
        if (lane() == owner) window(w, WINDOW_COPY)[lane()] = at;
        if (lane() > owner) begin = used;
    }
    copy_ranges(near, start - begin, begin, used, vids);
    __syncwarp();
    if (active) {
        i64 split = end;
        if (view[VIEW_SPLIT] && !only_lower(view)) {
            const i64 copy = window(w, WINDOW_COPY)[lane()];
            if (copy >= 0) split = start - copy + lower_bound(vids, (at_t)copy, (at_t)(copy + end - start), vid);
            else if (end - start > room) split = row_split(view, row);
        }
        window(w, WINDOW_START)[lane()] = start;
        window(w, WINDOW_END)[lane()] = end;
        window(w, WINDOW_SPLIT)[lane()] = split;
    }
    __syncwarp();
}

// Open the window over a batch of units; a bit for each that has something to do in this pass.
__device__ INLINE u32 open_batch(const Worker& w, i64 batch) {
    const u32 found = active_units(w, batch);
    if (found) fill_window(w, batch, found);
    return found;
}

// Fill the window anew where the row of the first of those that are left is not there, and has room now.
__device__ INLINE void fill_again(const Worker& w, i64 batch, u32 left) {
    const int slot = __ffs(left) - 1;
    const i64 length = window(w, WINDOW_END)[slot] - window(w, WINDOW_START)[slot];
    if (window(w, WINDOW_COPY)[slot] >= 0 || length > w.get(JOB_WINDOW_VIDS)) return;
    __syncwarp();
    fill_window(w, batch, left);
}

// Those of a batch's units that are left, a bit each, that are in the group of the first, at `slot`, and have its root: they
// run as one, so that what is made of the root's row is made once. What lies between them has nothing in this pass; where
// devices share the units it may be another's.
__device__ INLINE u32 same_root(const Worker& w, u32 left, i64 slot) {
    if (w.get(JOB_SHARES) > 1) return 1u << slot;
    const bool same = left >> lane() & 1 && lane() / w.get(JOB_GROUP) == slot / w.get(JOB_GROUP) &&
                      window(w, WINDOW_START)[lane()] == window(w, WINDOW_START)[slot];
    return __ballot_sync(ALL_LANES, same);
}

#endif

// Write the mark of each work unit. cut : the range of vids of level 1's list, whether it ends below the root, begins above it;
// how many at its beginning have nothing to do; the numbers of a `UnitMark`; then where the passes' ranges of vids end.
extern "C" __global__ void mark_passes(const i64* view, const u32* roots, const u32* unit_roots, const i64* first_unit, i64 units,
                                       const i64* cut, u64* marks) {
    const i64 *ends = cut + 8, passes = cut[5], starts = cut[6], cuts = cut[7];
    ROLLED for (i64 unit = (i64)blockIdx.x * blockDim.x + threadIdx.x; unit < units; unit += (i64)gridDim.x * blockDim.x) {
        const u32 root = unit_roots[unit];
        const i64 vid = roots[root];
        const Span span = row_slice(view, vid, cut[3] ? max(cut[0], vid + 1) : cut[0], cut[2] ? min(cut[1], vid) : cut[1]);
        const Range part = part_of(first_unit + root, unit, span.size());
        const u32* list = row_list(view, span);
        u64 found = 0, below = 0;
        const UnitMark none = {0, passes, starts, cuts};
        const Span row = starts ? find_row(view, vid) : Span{0, 0};
        const i64 before = part.size() == span.size() ? span.start - row.start : 255;  // else the list is not looked at as a whole
        int pass = 0;
        const auto end_pass = [&](i64 k) {
            if (pass < cuts) below |= (u64)min(before + k, (i64)255) << 8 * pass;
            ++pass;
        };
        ROLLED for (i64 k = part.start; k < part.end; ++k) {
            ROLLED while ((i64)list[span.start + k] >= ends[pass]) end_pass(k);
            if (k >= cut[4]) found |= 1ULL << pass;
        }
        ROLLED while (pass < cuts) end_pass(part.end);
        if (starts) {
            found |= (u64)row.start << passes | (u64)min((i64)row.size(), none.longest()) << none.length_at();
            if (cuts) found |= below << (passes + starts);
        }
        marks[unit] = found;
    }
}

#endif
