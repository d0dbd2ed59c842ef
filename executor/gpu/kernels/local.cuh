// Counting in a local graph: where all that is left to bind lies in one short list, the edges among its vertices become a
// matrix of bits, and candidate sets become a few words (the local graphs of G2Miner §4.2; bitmaps as in the thesis §1.6).
//
// Special kernels only, which know the levels (`gdb/executor/gpu/local.py`) as constants. A warp fills the matrix and notes
// the pairs that its first two levels may be bound to; then each lane counts below one pair after another, for itself.

#include "passes.cuh"
#include "supports.cuh"

#ifdef SPECIAL_LOCAL

// A set of positions in the list.
struct Positions {
    unsigned long long low, high;

    __device__ INLINE Positions operator&(const Positions& o) const { return {low & o.low, high & o.high}; }
    __device__ INLINE Positions without(const Positions& o) const { return {low & ~o.low, high & ~o.high}; }
    __device__ INLINE int size() const { return __popcll(low) + __popcll(high); }
    __device__ INLINE bool any() const { return (low | high) != 0; }
    // of those from a position on, and after so many others
    __device__ INLINE Positions from(int at) const {
        if (at >= 64) return {high >> (at - 64), 0};
        return at ? Positions{low >> at | high << (64 - at), high >> at} : *this;
    }
    __device__ INLINE Positions after(int at) const {
        if (at >= 64) return {0, low << (at - 64)};
        return at ? Positions{low << at, high << at | low >> (64 - at)} : *this;
    }
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

// A list of a local graph, as positions in it: of all its vertices, and of those that the first level may be bound to. Several
// lists in one graph have no edge between them.
struct LocalList {
    u32 numbers;  // a byte each

    __device__ INLINE int start() const { return numbers & 255; }
    __device__ INLINE int end() const { return numbers >> 8 & 255; }
    __device__ INLINE bool may_be_first(int at) const { return at >= (int)(numbers >> 16 & 255) && at < last(); }
    __device__ INLINE int last() const { return numbers >> 24; }
};

__device__ INLINE LocalList local_list(int start, int end, const Range& first) {
    return {(u32)start | (u32)end << 8 | (u32)first.start << 16 | (u32)first.end << 24};
}

// Whether pairs of vertices are all that is bound: each edge counts one, and no matrix is made.
constexpr bool LOCAL_EDGES = LOCAL_LEVELS == 2;

// In shared memory.
struct LocalGraph {
    u32* filter;      // a bit for each residue of a vid, zero between graphs
    u32* vids;        // [LOCAL_MOST]
    u32* begins;      // [LOCAL_MOST / 32]: a bit for each position where a list begins
    u32* lists;       // [32]: `LocalList`s
    Positions* rows;  // [LOCAL_MOST]: the neighbours of each position; only those before it, where no others are read
    unsigned short* pairs;  // those that a pack has no room for
    int size;
#ifdef LOCAL_SUPPORTS
    at_t* starts;     // [32]: of each list, what is to be added to a position in it to have that in the view
#endif

    __device__ INLINE bool may_have(u32 x) const {
        const u32 bit = x & (LOCAL_FILTER_BITS - 1);
        return filter[bit >> 5] >> (bit & 31) & 1;
    }

    // Position of a vid, -1 where it is not in the list.
    __device__ INLINE int find(u32 x, const LocalList& list) const {
        int at = list.start();
#pragma unroll
        for (int step = LOCAL_MOST / 2; step; step >>= 1)
            if (at + step <= list.end() && vids[at + step - 1] < x) at += step;
        return at < list.end() && vids[at] == x ? at : -1;
    }

    // Put a vertex at a position.
    __device__ INLINE void put(int at, u32 x) const {
        vids[at] = x;
        if constexpr (!LOCAL_EDGES) rows[at] = {0, 0};
        const u32 bit = x & (LOCAL_FILTER_BITS - 1);
        atomicOr(filter + (bit >> 5), 1u << (bit & 31));
    }

    __device__ INLINE void join(int i, int j) const {
        u32* words = (u32*)(rows + i);
        atomicOr(words + (j >> 5), 1u << (j & 31));
    }
};

__device__ INLINE LocalGraph local_graph(const Worker& w, const Room& room, int size) {
    u32* vids = room.local + LOCAL_FILTER_BITS / 32;
    u32* begins = vids + LOCAL_MOST;
    u32* lists = begins + LOCAL_MOST / 32;
    unsigned short* pairs = (unsigned short*)(w.buffer + w.get(JOB_LOCAL_PAIRS));
#ifdef LOCAL_SUPPORTS
    return {room.local, vids, begins, lists, nullptr, pairs, size, (at_t*)(lists + 32)};
#else
    return {room.local, vids, begins, lists, (Positions*)(lists + 32), pairs, size};
#endif
}

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

#ifdef LOCAL_IN_PASSES
// Of a graph that lies in device memory a range of rows at a time, each pass finds the neighbours that the vertices of its range
// have in their lists, and a last one counts. Between passes these lie in page-locked memory of the host (JOB_LOCAL_ROWS): of
// each root's list a row of bits for each of its vertices, as positions in the list, in as many words as the whole list needs.
// Most have no bit: only of the others there is a mark in device memory (JOB_LOCAL_MARKS, a bit for each u32 of the rows), and
// only these are written and read. The last pass comes to those lists alone that have a row of so many bits as the first levels
// take that are a clique (JOB_LOCAL_LISTS). A list whose vertices' rows are all in one pass's range is counted there, and
// nothing of it is kept: its rows have no words.

__device__ INLINE bool counts_rows(const Worker& w) { return w.get(JOB_PASS) < 0; }

__device__ INLINE i64 rows_of(const Worker& w, u32 root) { return ((const i64*)w.get(JOB_LOCAL_AT))[root]; }

__device__ INLINE u32* row_mark(const Worker& w, i64 row) { return (u32*)w.get(JOB_LOCAL_MARKS) + row / 32; }

__device__ INLINE int words_of(int size) { return (size + 31) / 32; }

__device__ INLINE void keep_row(const Worker& w, u32 root, int words, const LocalList& list, int at, const Positions& found) {
    if (!found.any()) return;
    const i64 row = rows_of(w, root) + (i64)(at - list.start()) * words;
    if (found.size() >= least_local() - 1) atomicOr(list_mark(w, root), 1u << (root & 31));
    const Positions own = found.from(list.start());
    ROLLED for (int k = 0; k < words; ++k) ((u32*)w.get(JOB_LOCAL_ROWS))[row + k] = (u32)((k < 2 ? own.low : own.high) >> (k & 1) * 32);
    atomicOr(row_mark(w, row), 1u << (row & 31));
}

// Fetch the rows of all vertices of a graph. Each read takes as long as the link does: all of a lane's are under way at once.
__device__ INLINE void fetch_rows(const Worker& w, const LocalGraph& g, const Pack& pack) {
    constexpr int ROUNDS = LOCAL_MOST / 32, WORDS = LOCAL_MOST / 32;
    u32 some[ROUNDS][WORDS];
    int begun = -1;
#pragma unroll
    for (int round = 0; round < ROUNDS; ++round) {
        const int mine = 32 * round + lane();
        const u32 word = g.begins[round];
        const int rank = begun + __popc(word & (lanes_before() << 1 | 1u));
        begun += __popc(word);
        int words = 0;
        i64 row = 0;
        if (mine < g.size) {
            const LocalList own = {g.lists[rank]};
            const int width = words_of(own.end() - own.start());
            row = rows_of(w, pack.found()[rank]) + (i64)(mine - own.start()) * width;
            const bool wanted = mine > own.start() && mine < own.last();  // further levels are below those that are bound first
            words = wanted && *row_mark(w, row) >> (row & 31) & 1 ? width : 0;
        }
#pragma unroll
        for (int k = 0; k < WORDS; ++k) some[round][k] = k < words ? ((const u32*)w.get(JOB_LOCAL_ROWS))[row + k] : 0;
    }
    begun = -1;
#pragma unroll
    for (int round = 0; round < ROUNDS; ++round) {
        const int mine = 32 * round + lane();
        const u32 word = g.begins[round];
        const LocalList own = {g.lists[max(begun + __popc(word & (lanes_before() << 1 | 1u)), 0)]};
        begun += __popc(word);
        const Positions found = {some[round][0] | (u64)some[round][1] << 32, some[round][2] | (u64)some[round][3] << 32};
        if (mine < g.size) g.rows[mine] = found.after(own.start());
    }
    __syncwarp();
}
#endif

// Rows longer than this are searched for where those vertices begin.
#define LOCAL_SEARCHED 256

#ifdef LOCAL_SUPPORTS
// The position at which a vid is, or would be, in the row of a lane; all lanes at once.
__device__ INLINE at_t place_in(const i64* view, const Span& row, int owner, u32 y) {
    const Span theirs = {__shfl_sync(ALL_LANES, row.start, owner), __shfl_sync(ALL_LANES, row.end, owner)};
    return lower_bound(row_list(view, theirs), theirs.start, theirs.end, (i64)y);
}
#endif

// Embeddings of the levels from LOCAL_FIRST on in a local graph of so many vertices, which are there, as its lists are.
__device__ INLINE i64 count_graph(const Worker& w, const Room& room, int size, i64& spent) {
    const LocalGraph g = local_graph(w, room, size);
    const Pack pack = {room.packed};
    const i64* view = w.view(LOCAL_VIEW);
    const auto near = neighbours(view);
    constexpr long long second_below = NEST_LOCAL[LOCAL_FIELDS + LOCAL_BELOW], second_above = NEST_LOCAL[LOCAL_FIELDS + LOCAL_ABOVE];
    int pairs = 0, begun = -1;
#ifdef LOCAL_IN_PASSES
    const Range pass = {w.get(JOB_PASS_START), w.get(JOB_PASS_END)};
    const bool only_counts = !LOCAL_EDGES && counts_rows(w), only_finds = !LOCAL_EDGES && !only_counts;
#else
    constexpr bool only_counts = false;
#endif
    const auto note = [&](int i, int j, const LocalList& list) {  // i bound first, all lanes at once
        const bool mine = i >= 0 && list.may_be_first(i);
        const u32 noted = __ballot_sync(ALL_LANES, mine);
        if (!LOCAL_EDGES && mine) {
            const int at = pairs + __popc(noted & lanes_before());
            (at < PACK_PAIRS ? pack.pairs() : g.pairs)[at] = (unsigned short)(i << 8 | j);
        }
        pairs += __popc(noted);
    };
#ifdef LOCAL_IN_PASSES
    if (only_counts) fetch_rows(w, g, pack);
#endif
    ROLLED for (int base = 0; base < g.size; base += 32, ++spent) {
        const int mine = base + lane();
        const u32 word = g.begins[base / 32];
        const int rank = begun + __popc(word & (lanes_before() << 1 | 1u));
        const LocalList own = {g.lists[rank]};
        begun += __popc(word);
#ifdef LOCAL_IN_PASSES
        const int words = only_finds && mine < g.size ? pack.words()[rank] : 0;
#else
        constexpr int words = 0;
#endif
        // nothing of its list lies below the first one; further levels are below those that are bound first
        const bool wanted = LOCAL_SYMMETRIC || (LOCAL_EDGES || words ? own.may_be_first(mine) : mine < own.last());
        bool reads = mine < g.size && mine > own.start() && wanted;
#ifdef LOCAL_IN_PASSES
        if (only_counts) {
            Positions left = reads ? g.rows[mine] : Positions{0, 0};
            ROLLED while (__any_sync(ALL_LANES, left.any())) {
                const int j = left.any() ? left.next() : -1, i = j < 0 ? -1 : mine;
                if (!second_above) note(i, j, own);
                if (!second_below) note(j, i, own);
            }
            continue;
        }
#endif
        const i64 x = reads ? (i64)g.vids[mine] : 0;
#ifdef LOCAL_SUPPORTS
        const at_t start = g.starts[max(rank, 0)];
#endif
#ifdef LOCAL_IN_PASSES
        reads = reads && x >= pass.start && x < pass.end;
#endif
        Span row = reads ? row_slice(view, x, 0, x) : Span{0, 0};
        if (row.size() > LOCAL_SEARCHED)
            row.start = lower_bound(row_list(view, row), row.start, row.end, (i64)g.vids[own.start()]);
        each_hit(
            pack, row, [&](at_t at) { return near[at]; }, [&](u32 y) { return g.may_have(y); },
            [&](int owner, u32 y, bool active) {
                const LocalList list = {__shfl_sync(ALL_LANES, own.numbers, owner)};
                const int i = base + owner, j = active ? g.find(y, list) : -1;
                if (!__any_sync(ALL_LANES, j >= 0)) return;
#ifdef LOCAL_SUPPORTS
                const at_t shift = __shfl_sync(ALL_LANES, start, owner);
                note_triangle(w, j >= 0, shift + i, shift + j, place_in(view, row, owner, y));
#endif
                if (!LOCAL_EDGES && j >= 0) {
                    g.join(i, j);
                    if (LOCAL_SYMMETRIC) g.join(j, i);
                }
#ifdef LOCAL_IN_PASSES
                const int counted = only_finds && __shfl_sync(ALL_LANES, words, owner) ? -1 : j;
#else
                const int counted = j;
#endif
                if (!second_above) note(counted < 0 ? -1 : i, j, list);
                if (!second_below) note(counted, i, list);
            },
            spent);
#ifdef LOCAL_IN_PASSES
        __syncwarp();
        if (words && reads) keep_row(w, pack.found()[rank], words, own, mine, g.rows[mine]);
#endif
    }
    __syncwarp();
    i64 total = 0;
    if constexpr (!LOCAL_EDGES) {
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
    }
    __syncwarp();
    ROLLED for (int k = lane(); !only_counts && k < g.size; k += 32) g.filter[(g.vids[k] & (LOCAL_FILTER_BITS - 1)) >> 5] = 0;
    __syncwarp();
    return LOCAL_EDGES ? pairs : pairs ? warp_sum(total) : 0;
}

// Make the local graph of one list, which must be no longer than LOCAL_MOST; returns how many vertices it has.
__device__ INLINE int fill_local(const Worker& w, const Room& room, const Source& source, const Span& part) {
    if (source.span.size() < least_local()) return 0;
    LocalGraph g = local_graph(w, room, 0);
    Range first = {0, 0};  // the part as positions in the list
    ROLLED for (at_t base = source.span.start; base < source.span.end; base += 32) {
        const at_t at = base + lane();
        const bool keep = at < source.span.end && accepts(w, LOCAL_FIRST, source, at);
        const u32 keepers = __ballot_sync(ALL_LANES, keep);
        if (keep) g.put(g.size + __popc(keepers & lanes_before()), ((const u32*)source.address)[at]);
        first.start += __popc(__ballot_sync(ALL_LANES, keep && at < part.start));
        first.end += __popc(__ballot_sync(ALL_LANES, keep && at < part.end));
        g.size += __popc(keepers);
    }
    if (lane() < LOCAL_MOST / 32) g.begins[lane()] = lane() == 0;
    if (lane() == 0) g.lists[0] = local_list(0, g.size, first).numbers;
    __syncwarp();
    return g.size;
}

// Reads of a lane that are under way at once while lists are fetched: through the link each takes long.
#ifdef LOCAL_IN_PASSES
#define LISTS_AHEAD (LOCAL_MOST / 32)
#else
#define LISTS_AHEAD 1
#endif

// ---- several work units in one graph -------------------------------------------------------------------------------------

// Make the local graph of the lists of this device's work units number, number + STRIDE, ..., in passes of those that are left of
// its batch, as many as it has room for; returns how many vertices it has. fitting: a bit for the lane of each of these units,
// none where the list of the first is too long. A root has few neighbours, mostly: alone it would leave most lanes idle, and
// each unit waits as long for its root, its row and its list.
__device__ INLINE int fill_several(const Worker& w, const Room& room, i64 number, u32& fitting) {
    const i64 *row = w.level(1), *view = w.view(row[LEVEL_BASE_A]);
#ifdef LOCAL_IN_PASSES
    const i64 mine = number_in(w, w.state[WARP_BATCH], lane());
    const bool there = w.state[WARP_LEFT] >> lane() & 1;
#else
    const i64 mine = number + lane() * w.get(JOB_STRIDE);
    const bool there = mine < w.get(JOB_UNITS);
#endif
    Span span = {0, 0};
    Range part = {0, 0};
    u32 root = 0;
#ifdef LOCAL_IN_PASSES
    i64 below = 0;  // of the list, the end of the pass's range
    bool alone = false;  // whether no other pass has something to do with the list
#endif
    if (there) {
        const i64 unit = shared_unit(w, mine);
        root = ((const u32*)w.get(JOB_UNIT_ROOTS))[unit];
        const i64 x = ((const u32*)w.get(JOB_ROOTS))[root];
        const i64 end = row[LEVEL_BELOW] < row[LEVEL_BELOW_END] ? min(row[LEVEL_HI], x) : row[LEVEL_HI];
        const i64 start = row[LEVEL_ABOVE] < row[LEVEL_ABOVE_END] ? max(row[LEVEL_LO], x + 1) : row[LEVEL_LO];
        if (admits(w, 0, x)) {
#ifdef LOCAL_IN_PASSES
            const i64 number = row_number(view, x);
            if (number >= 0) {
                const UnitMark mark = mark_of(w, unit);
                const Span whole = mark.row(view, number);
                span = side_slice(view, side_of(view, number, whole, x, start, end), x, start, end);
                below = mark.below(w.get(JOB_PASS));
                below = below < 255 ? max(whole.start + below - (i64)span.start, (i64)0) : (i64)span.size();
                if (!LOCAL_EDGES && !counts_rows(w)) {  // the first unit of its root has the first vertices, the last one the last
                    const i64* first = (const i64*)w.get(JOB_FIRST_UNIT) + root;
                    const u64 passes = mark_of(w, first[0]).of_passes() | mark_of(w, first[1] - 1).of_passes();
                    alone = !(passes & ~(1ULL << w.get(JOB_PASS)));
                }
            }
#else
            span = row_slice(view, x, start, end);
#endif
        }
        part = part_of((const i64*)w.get(JOB_FIRST_UNIT) + root, unit, span.size());
    }
    int n = span.size() < least_local() ? 0 : (int)min((i64)span.size(), (i64)LOCAL_MOST + 1);
#ifdef LOCAL_IN_PASSES
    const bool only_counts = !LOCAL_EDGES && counts_rows(w);
    const int words = alone ? 0 : words_of(n);
    // what is bound to a vertex of the range has the others below it
    if (!only_counts && n <= LOCAL_MOST && below < n) {
        n = below < 2 ? 0 : (int)below;
        part.end = min(part.end, below);
    }
#else
    constexpr bool only_counts = false;
#endif
    int after = n;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const int others = __shfl_up_sync(ALL_LANES, after, step);
        if (lane() >= step) after += others;
    }
    const int all = __shfl_sync(ALL_LANES, after, 31);
    // the first, and whole rounds of 32, about half of them: the next time there is as much to do
    const int least = __shfl_sync(ALL_LANES, after, max(__ffs(__ballot_sync(ALL_LANES, there)) - 1, 0));
    const int most = all <= LOCAL_MOST ? LOCAL_MOST : min(LOCAL_MOST, max(least, (all + 63) / 64 * 32));
    fitting = __ballot_sync(ALL_LANES, there && after <= most);
    if (!fitting) return 0;
    const int before = after - n;
    const bool fits = n && fitting >> lane() & 1;
    const u32 some = __ballot_sync(ALL_LANES, fits);
    const Pack pack = {room.packed};
    const LocalGraph g = local_graph(w, room, __shfl_sync(ALL_LANES, after, 31 - __clz(fitting)));
    if (lane() < LOCAL_MOST / 32) g.begins[lane()] = 0;
    __syncwarp();
    if (fits) {
        const int rank = __popc(some & lanes_before());
        atomicOr(g.begins + before / 32, 1u << (before & 31));
        g.lists[rank] = local_list(before, after, {before + part.start, before + part.end}).numbers;
        pack.offsets()[rank] = span.start - before;
        pack.found()[rank] = root;
#ifdef LOCAL_SUPPORTS
        g.starts[rank] = (at_t)(span.start - before);
#endif
#ifdef LOCAL_IN_PASSES
        pack.words()[rank] = (u8)words;
#endif
    }
    __syncwarp();
    const auto near = neighbours(view);
    int begun = -1;
    ROLLED for (int base = 0; !only_counts && base < g.size; base += 32 * LISTS_AHEAD) {
        u32 some[LISTS_AHEAD];
#pragma unroll
        for (int k = 0; k < LISTS_AHEAD; ++k) {
            const u32 word = g.begins[base / 32 + k];
            const int at = base + 32 * k + lane();
            if (at < g.size) some[k] = near[pack.offsets()[begun + __popc(word & (lanes_before() << 1 | 1u))] + at];
            begun += __popc(word);
        }
#pragma unroll
        for (int k = 0; k < LISTS_AHEAD; ++k)
            if (base + 32 * k + lane() < g.size) g.put(base + 32 * k + lane(), some[k]);
    }
    __syncwarp();
    return g.size;
}

#ifdef LOCAL_SUPPORTS
// Note the triangles of one work unit whose list is too long for a local graph: of those vertices that are bound last a graph has
// as many at a time as there is room for, and each of the unit's part above them comes to it.
__device__ INLINE void note_long(const Worker& w, const Room& room, const Source& source, const Span& part, i64& spent) {
    const i64* view = w.view(LOCAL_VIEW);
    const auto near = neighbours(view);
    const u32* list = (const u32*)source.address;
    const Pack pack = {room.packed};
    ROLLED for (at_t first = source.span.start; first < part.end; first += LOCAL_MOST, ++spent) {
        const LocalGraph g = local_graph(w, room, (int)min(part.end - first, (at_t)LOCAL_MOST));
        ROLLED for (int k = lane(); k < g.size; k += 32) g.put(k, list[first + k]);
        __syncwarp();
        const LocalList all = local_list(0, g.size, {0, 0});
        const i64 lo = g.vids[0], hi = (i64)g.vids[g.size - 1] + 1;
        ROLLED for (at_t base = max(part.start, first + 1); base < part.end; base += 32, ++spent) {
            const bool reads = base + lane() < part.end;
            const i64 x = reads ? (i64)list[base + lane()] : 0;
            const Span row = reads ? row_slice(view, x, lo, min(x, hi)) : Span{0, 0};
            each_hit(
                pack, row, [&](at_t at) { return near[at]; }, [&](u32 y) { return g.may_have(y); },
                [&](int owner, u32 y, bool active) {
                    const int j = active ? g.find(y, all) : -1;
                    if (!__any_sync(ALL_LANES, j >= 0)) return;
                    note_triangle(w, j >= 0, base + owner, first + j, place_in(view, row, owner, y));
                },
                spent);
            __syncwarp();
        }
        ROLLED for (int k = lane(); k < g.size; k += 32) g.filter[(g.vids[k] & (LOCAL_FILTER_BITS - 1)) >> 5] = 0;
        __syncwarp();
    }
}
#endif

#endif
