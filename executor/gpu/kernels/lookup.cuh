// Searches: in ascending lists of vids, and in the interval index of a view (geneva-tpds §4.1).
//
// Two kinds of functions: `warp_*` are called by all 32 lanes of a warp together and give every lane the same answer; the
// others are called by each lane for itself. No list is __restrict__: sets are written and read within one launch, and a
// restricted pointer would be read through the non-coherent cache.

typedef long long i64;
typedef unsigned int u32;
typedef unsigned char u8;
typedef unsigned long long u64;

#define ALL_LANES 0xffffffffu

// The same functions make two kernels. The generic one interprets any nest given as tables: its parts occur once, so that the
// code stays small. A special one has the tables of one nest as constants (`render.special`): every part is written out where
// it is called, and what the tables decide falls away.
#ifdef SPECIAL
#define PART __device__ __forceinline__
#define INLINE __forceinline__
#define INLINED __attribute__((always_inline))  // of a lambda: its parameter is a constant only where it is written out
#define UNROLLED _Pragma("unroll")
#define AHEAD 2  // reads of a lane that are under way at once
#define AHEAD_IN_SHORT 2  // where several lists are read at once
#else
#define PART __device__ __noinline__
#define INLINE inline
#define INLINED
#define UNROLLED _Pragma("unroll 1")
#define AHEAD 1
#define AHEAD_IN_SHORT 1
#endif
// A position in a list: a special kernel knows whether 32 bits hold all.
#ifdef NARROW
typedef int at_t;
#else
typedef long long at_t;
#endif
#define ROLLED _Pragma("unroll 1")  // an interpreter gains nothing from unrolling, and its compilation takes seconds more

__device__ INLINE int lane() { return threadIdx.x & 31; }

__device__ INLINE u32 lanes_before() { return (1u << lane()) - 1u; }

// A half-open range of positions in a list.
struct Span {
    at_t start, end;

    Span() = default;
    __device__ INLINE Span(i64 from, i64 to) : start((at_t)from), end((at_t)to) {}
    __device__ INLINE at_t size() const { return end - start; }
};

// A half-open range of vids.
struct Range {
    i64 start, end;

    __device__ INLINE i64 size() const { return end - start; }
};

// First position in [start, end) whose value is >= x.
PART at_t lower_bound(const u32* list, at_t start, at_t end, i64 x) {
    ROLLED while (start < end) {
        const at_t middle = start + ((end - start) >> 1);
        if ((i64)list[middle] < x) start = middle + 1;
        else end = middle;
    }
    return start;
}

// The same by the whole warp: 32 probes a round, so a row of 1000 takes 2 dependent loads instead of 10.
__device__ __noinline__ at_t warp_lower_bound(const u32* list, at_t start, at_t end, i64 x) {
    ROLLED while (start < end) {
        const at_t step = (end - start + 31) / 32;
        const at_t probe = start + step * (lane() + 1) - 1;
        const bool less = probe < end && (i64)list[probe] < x;
        start += step * __popc(__ballot_sync(ALL_LANES, less));
        end = min(end, start + step - 1);
    }
    return start;
}

__device__ INLINE bool has_bit(const u8* bits, i64 x) { return bits[x >> 3] >> (x & 7) & 1; }

// ---- where a view lies -----------------------------------------------------------------------------------------------------
//
// A view that lies whole in device memory is one array of neighbours and one of offsets. Of any other (COLD, a form of the
// kernels of its own, so that whole views pay nothing) some rows lie in device memory, and all of them in page-locked memory of
// the host, which is read in place, through the link. Positions and row numbers are those of the whole view everywhere; a row
// lies in one memory. This is the one place that knows.

#ifdef COLD

struct Neighbours {
    const u32 *hot, *cold;  // each such that a position of the whole view is an index
    at_t start, size;       // the positions in device memory

    // The memory in which the row lies that holds a position.
    __device__ INLINE const u32* of(at_t at) const { return (u64)(i64)(at - start) < (u64)size ? hot : cold; }
    __device__ INLINE u32 operator[](at_t at) const { return of(at)[at]; }
};

__device__ INLINE const i64* place(const i64* view) { return (const i64*)view[VIEW_PLACE]; }

__device__ INLINE Neighbours neighbours(const i64* view) {
    const i64* at = place(view);
    return {(const u32*)view[VIEW_NEIGHBOURS], (const u32*)at[PLACE_COLD], (at_t)at[PLACE_START], (at_t)at[PLACE_SIZE]};
}

// The list that holds a range of one row.
__device__ INLINE const u32* row_list(const i64* view, Span span) { return neighbours(view).of(span.start); }

// Where the offsets of a row begin: two numbers.
__device__ INLINE const i64* row_offsets(const i64* view, i64 row) {
    const i64* at = place(view);
    const bool hot = (u64)(row - at[PLACE_ROW]) < (u64)at[PLACE_ROWS];
    return (const i64*)(hot ? view[VIEW_OFFSETS] : at[PLACE_COLD_OFFSETS]) + row;
}

// ViewField.SPLIT of a row.
__device__ INLINE i64 row_split(const i64* view, i64 row) {
    const i64* at = place(view);
    const bool hot = (u64)(row - at[PLACE_SPLIT_ROW]) < (u64)at[PLACE_SPLIT_ROWS];
    return ((const i64*)(hot ? view[VIEW_SPLIT] : at[PLACE_COLD_SPLIT]))[row];
}

#else

__device__ INLINE const u32* neighbours(const i64* view) { return (const u32*)view[VIEW_NEIGHBOURS]; }
__device__ INLINE const u32* row_list(const i64* view, Span) { return neighbours(view); }
__device__ INLINE const i64* row_offsets(const i64* view, i64 row) { return (const i64*)view[VIEW_OFFSETS] + row; }
__device__ INLINE i64 row_split(const i64* view, i64 row) { return ((const i64*)view[VIEW_SPLIT])[row]; }

#endif

// A vid's row in a view by the interval index, -1 where it has none. The first interval, where most vids lie, is in the
// view's own table row.
PART i64 row_number(const i64* view, i64 vid) {
    i64 step = vid - view[VIEW_FIRST0];
    if (step >= 0 && step < view[VIEW_LENGTH0]) return view[VIEW_ROW0] + step;
    const u32* first = (const u32*)view[VIEW_FIRST];
    const i64 k = lower_bound(first, 0, (at_t)view[VIEW_INTERVALS], vid + 1);
    if (k == 0) return -1;
    step = vid - first[k - 1];
    return step < ((const u32*)view[VIEW_LENGTH])[k - 1] ? ((const u32*)view[VIEW_ROW])[k - 1] + step : -1;
}

__device__ INLINE Span find_row(const i64* view, i64 vid) {
    const i64 row = row_number(view, vid);
    if (row < 0) return {0, 0};
    const i64* offsets = row_offsets(view, row);
    return {offsets[0], offsets[1]};
}

// Whether a view has the lower sides of rows only, which are split at their ends.
__device__ INLINE bool only_lower(const i64* view) { return view[VIEW_SPLIT] == view[VIEW_OFFSETS] + 8; }

// The part of a vid's row `found` on one side of a bound at the vid itself, which is what most restrictions give: looked up and
// not searched. What is left to be cut off is the caller's.
__device__ INLINE Span side_of(const i64* view, i64 row, Span found, i64 vid, i64 low, i64 high) {
    if (!view[VIEW_SPLIT] || (high > vid && low <= vid)) return found;
    const at_t split = only_lower(view) ? found.end : (at_t)row_split(view, row);
    if (high <= vid) found.end = split;
    else found.start = split;
    return found;
}

__device__ INLINE Span row_side(const i64* view, i64 vid, i64 low, i64 high) {
    const i64 row = row_number(view, vid);
    if (row < 0) return {0, 0};
    const i64* offsets = row_offsets(view, row);
    return side_of(view, row, {offsets[0], offsets[1]}, vid, low, high);
}

// The part of an ascending list whose values lie in [low, high).
PART Span warp_clip(const u32* list, Span span, i64 low, i64 high) {
    if (span.start < span.end && (i64)list[span.start] < low)
        span.start = warp_lower_bound(list, span.start + 1, span.end, low);
    if (span.start < span.end && (i64)list[span.end - 1] >= high)
        span.end = warp_lower_bound(list, span.start, span.end - 1, high);
    return span;
}

// The part of what `row_side` gives whose values lie in [low, high). An end that it has cut is not looked at again.
__device__ INLINE Span side_slice(const i64* view, Span span, i64 vid, i64 low, i64 high) {
    const u32* list = row_list(view, span);
    if (low > 0 && span.start < span.end && (i64)list[span.start] < low)
        span.start = lower_bound(list, span.start + 1, span.end, low);
    if (view[VIEW_SPLIT] && high == vid) return span;
    if (span.start < span.end && (i64)list[span.end - 1] >= high)
        span.end = lower_bound(list, span.start, span.end - 1, high);
    return span;
}

// The part of a vid's row whose values lie in [low, high).
__device__ INLINE Span row_slice(const i64* view, i64 vid, i64 low, i64 high) {
    return side_slice(view, row_side(view, vid, low, high), vid, low, high);
}
