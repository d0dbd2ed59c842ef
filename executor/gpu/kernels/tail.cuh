// Counting the tail of a nest: a forest, with no loop over its levels; lone levels by formula, trees from their leaves to
// their roots, a weight for each data vertex (`executor/cpu/tail.py` and `trees.py` do the same for one thread).
//
// A warp weighs 32 vertices at a time, one in each lane, and reads their rows several at a time, so that short rows leave few
// lanes idle (thesis §1.6).

#include "worker.cuh"

#define INFINITE 1.0e300
#define NONE 0xffffffffu  // no vid
#define ALONE 64  // elements of a range above which the whole warp reads it
#define SEARCH 3u  // a search in a row costs as much as so many of its elements looked up

// What is kept of a node while its tail is counted.
struct TailNode {
    i64* at;

    __device__ const u32* list() const { return (const u32*)at[TAIL_LIST]; }
    __device__ Span span() const { return {at[TAIL_START], at[TAIL_END]}; }

    __device__ void set(i64 list, Span span) const {
        __syncwarp();
        if (lane() == 0) {
            at[TAIL_LIST] = list;
            at[TAIL_START] = span.start;
            at[TAIL_END] = span.end;
        }
        __syncwarp();
    }

    // 1: its scratch is in use, more: so many residues of its filter are, + 1
    __device__ void use(i64 what) const {
        __syncwarp();
        if (lane() == 0) at[TAIL_USED] = what;
        __syncwarp();
    }
};

__device__ INLINE TailNode tail_node(const Worker& w, i64 c) { return {w.tail + c * TAIL_FIELDS}; }

// Visit the nodes of the tail in order; a special kernel knows their numbers as constants.
template <class Visit>
__device__ INLINE void each_node(const Worker& w, Visit visit) {
#ifdef SPECIAL
    SPECIAL_EACH_NODE
#else
    ROLLED for (i64 c = 0; c < w.get(JOB_NODE_COUNT); ++c) visit(c);
#endif
}

// A node's scratch: the bits of a MARK, or a weight for each vid and then, of a PUSHED, the vids that it touched.
__device__ INLINE u8* scratch(const Worker& w, i64 c) { return w.scratch + w.table(JOB_SCRATCH_AT)[c]; }

template <class T>
__device__ INLINE T warp_sum(T x) {
    for (int step = 16; step; step >>= 1) x += __shfl_xor_sync(ALL_LANES, x, step);
    return x;
}

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800  // which have one instruction for 32 bits
__device__ INLINE u32 warp_sum(u32 x) { return __reduce_add_sync(ALL_LANES, x); }

__device__ INLINE i64 warp_sum(i64 x) {  // in parts so small that the sum of 32 fits
    const u32 few = (1u << 26) - 1, low = (u32)x & few, middle = (u32)(x >> 26) & few, high = (u32)((u64)x >> 52);
    return (i64)((u64)warp_sum(low) + ((u64)warp_sum(middle) << 26) + ((u64)warp_sum(high) << 52));
}
#endif

// Read the ranges of the lanes in `chosen`, each by G lanes of the warp, 32 / G ranges at a time. context(owner) brings what
// the reading of a lane's range needs; load(context, start, at) reads position `at` of the range that begins at `start`;
// use(context, value) takes it (NONE past the end), in all lanes at once; end(ranges, G) comes after each round, `ranges`
// being the lanes whose ranges were read. Several reads are under way before the first is used: a warp waits for memory
// most of its time.
template <int G, class Context, class Load, class Use, class End>
__device__ INLINE void read_ranges(u32 chosen, Span range, Context context, Load load, Use use, End end, i64& spent) {
    const int group = lane() / G;
    int turns = 0;
    constexpr int at_once = 32 / G, ahead = G < 32 ? AHEAD_IN_SHORT : AHEAD;
    ROLLED while (chosen) {
        u32 left = chosen;
#pragma unroll
        for (int k = 0; k < at_once - 1; ++k)
            if (k < group) left &= left - 1;
        const int owner = left ? __ffs(left) - 1 : 0;
        const at_t start = __shfl_sync(ALL_LANES, range.start, owner), last = __shfl_sync(ALL_LANES, range.end, owner);
        const at_t stop = left ? last : start;
        const auto known = context(owner);
#ifdef COLD  // from where a line of the link begins
        const at_t first = G < 32 ? start : start & ~(at_t)31;
#else
        const at_t first = start;
#endif
        ROLLED for (at_t at = first + lane() % G; __any_sync(ALL_LANES, at < stop); at += G * ahead) {
            u32 values[ahead];
#pragma unroll
            for (int k = 0; k < ahead; ++k)
                values[k] = at + k * G >= start && at + k * G < stop ? load(known, start, at + k * G) : NONE;
#pragma unroll
            for (int k = 0; k < ahead; ++k) use(known, values[k]);
            ++turns;
        }
        u32 rest = chosen;
#pragma unroll
        for (int k = 0; k < at_once; ++k) rest &= rest - 1;
        end(chosen & ~rest, G);
        chosen = rest;
    }
    spent += turns * ahead;
}

// Each lane has a range of positions: read all of them, those of more than `alone` by the whole warp and short ones by a part
// of it each, so that few lanes are idle (packing, thesis §1.6).
template <class Context, class Load, class Use, class End>
__device__ INLINE void each_position(Span range, int alone, Context context, Load load, Use use, End end, i64& spent) {
    const at_t size = range.size();
    read_ranges<32>(__ballot_sync(ALL_LANES, size > alone), range, context, load, use, end, spent);
    read_ranges<8>(__ballot_sync(ALL_LANES, size > 0 && size <= alone), range, context, load, use, end, spent);
}

// The size above which a range is read by the whole warp: where a row is read through the link, lines of it then come whole.
__device__ INLINE int read_alone(const i64* view, Span range) {
#ifdef COLD
    return row_list(view, range) == neighbours(view).cold ? FAR_ALONE : ALONE;
#else
    return ALONE;
#endif
}

// What G lanes together found in each of the lanes' ranges: each lane gets the result of its own.
template <class T>
__device__ INLINE T found_in(T x, u32 ranges, int lanes) {
    for (int step = lanes / 2; step; step >>= 1) x += __shfl_xor_sync(ALL_LANES, x, step);
    const bool mine = ranges >> lane() & 1;
    x = __shfl_sync(ALL_LANES, x, mine ? __popc(ranges & lanes_before()) * lanes : 0);
    return mine ? x : T(0);
}

#ifdef SPECIAL
// Where a warp keeps, in shared memory, what it needs to read ranges end to end: a bit for each element that begins a range;
// for each range that is not empty what is to be added to an element's number to have its position, and its lane; how many
// were found in each lane's range; and a queue of elements that are to be looked at again, with the lanes of their ranges.
struct Pack {
    u32* own;  // where 16 bytes begin

    __device__ INLINE u32* begins() const { return own; }
    __device__ INLINE at_t* offsets() const { return (at_t*)(own + PACK_BEGINS); }
    __device__ INLINE u32* found() const { return own + PACK_BEGINS + 64; }
    __device__ INLINE u32* values() const { return found() + 32; }
    __device__ INLINE u8* owners() const { return (u8*)(values() + PACK_QUEUE); }
    __device__ INLINE u8* lanes() const { return owners() + PACK_QUEUE; }
    __device__ INLINE u32* queued() const { return (u32*)(lanes() + 32); }  // how many lie in the queue
    __device__ INLINE u8* words() const { return (u8*)(queued() + 4); }  // of each list of a local graph, what a row of its bits takes
    __device__ INLINE unsigned short* pairs() const { return (unsigned short*)(queued() + 12); }  // of a local graph, the first
};

// Each lane has a range of positions: read all of them, laid end to end, so that hardly a lane is idle; load(at) reads an
// element. Those that pass test(value) are few: they are put by, and confirm(owner, value, active) takes them, in all lanes at
// once, owner being the lane whose range it was.
template <class Load, class Test, class Confirm>
__device__ INLINE void each_hit(const Pack& pack, Span range, Load load, Test test, Confirm confirm, i64& spent) {
    at_t start = range.start, left = range.size();
    int queued = 0, total = 0, base = 0, begun = 0;
    if (lane() == 0) *pack.queued() = 0;
    const u32 upto = lanes_before() << 1 | 1u;
    bool more = true;
    ROLLED while (more) {
        const u32 some = base >= total ? __ballot_sync(ALL_LANES, left > 0) : 0u;
        more = base < total || some;
        if (some) {  // lay out the next ones
            const int most = PACK_ELEMENTS >> (some & (some - 1) ? 32 - __clz(__popc(some) - 1) : 0);
            const int n = left > 0 ? (int)min(left, (at_t)most) : 0;
            int after = n;
#pragma unroll
            for (int step = 1; step < 32; step *= 2) {
                const int others = __shfl_up_sync(ALL_LANES, after, step);
                if (lane() >= step) after += others;
            }
            total = __shfl_sync(ALL_LANES, after, 31);
            base = begun = 0;
            // up to the next ones that are read together
            ROLLED for (int k = lane(); 32 * k < total + 32 * PACK_AHEAD; k += 32) pack.begins()[k] = 0;
            __syncwarp();
            if (n) {
                const int before = after - n, rank = __popc(some & lanes_before());
                atomicOr(pack.begins() + before / 32, 1u << (before & 31));
                pack.offsets()[rank] = start - before;
                pack.lanes()[rank] = (u8)lane();
            }
            start += n;
            left -= n;
            spent += 1 + total / 32;
            __syncwarp();
        }
        if (more) {
            u32 begins[PACK_AHEAD];
#pragma unroll
            for (int k = 0; k < PACK_AHEAD; k += 4) {
                const uint4 words = *(const uint4*)(pack.begins() + base / 32 + k);
                begins[k] = words.x, begins[k + 1] = words.y, begins[k + 2] = words.z, begins[k + 3] = words.w;
            }
            u32 values[PACK_AHEAD];
            int ranks[PACK_AHEAD];
#pragma unroll
            for (int k = 0; k < PACK_AHEAD; ++k) {
                const int number = base + 32 * k + lane();
                ranks[k] = begun + __popc(begins[k] & upto) - 1;
                begun += __popc(begins[k]);
                values[k] = number < total ? load(pack.offsets()[ranks[k]] + number) : NONE;
            }
            base += 32 * PACK_AHEAD;
            u32 hits = 0;
#pragma unroll
            for (int k = 0; k < PACK_AHEAD; ++k) hits |= values[k] != NONE && test(values[k]) ? 1u << k : 0u;
            if (__any_sync(ALL_LANES, hits != 0)) {
                ROLLED while (hits) {  // once, mostly
                    const int k = __ffs(hits) - 1;
                    u32 value = values[0];
                    int rank = ranks[0];
#pragma unroll
                    for (int i = 1; i < PACK_AHEAD; ++i)
                        if (k == i) value = values[i], rank = ranks[i];
                    const int at = (int)atomicAdd(pack.queued(), 1u);
                    pack.values()[at] = value;
                    pack.owners()[at] = pack.lanes()[rank];
                    hits &= hits - 1;
                }
                __syncwarp();
                queued = (int)*(volatile u32*)pack.queued();
            }
            __syncwarp();
        }
        // before the owners' lanes are written anew, nothing needs them: they are in the queue
        ROLLED while (queued >= 32 || (!more && queued)) {
            const int from = max(queued - 32, 0), at = min(from + lane(), queued - 1);
            confirm((int)pack.owners()[at], pack.values()[at], from + lane() < queued);
            queued = from;
            __syncwarp();
            if (lane() == 0) *pack.queued() = (u32)from;
            __syncwarp();
        }
    }
}
#endif

struct Nothing {};

__device__ INLINE Nothing nothing(int) { return {}; }

// ---- lone levels ---------------------------------------------------------------------------------------------------------

// Whether the length of level d's source, less the vertices it must differ from, is the number of its elements.
__device__ INLINE bool is_plain(const Worker& w, const i64* row) {
    if (row[LEVEL_BITS] >= 0 || row[LEVEL_CHECK] != row[LEVEL_CHECK_END] || repeats(row)) return false;
    return !row[LEVEL_IS_EDGE] ||
           (row[LEVEL_DIFFERS] == row[LEVEL_DIFFERS_END] && row[LEVEL_ABOVE] == row[LEVEL_ABOVE_END]);
}

// Number of elements that level d would bind.
PART i64 count_level(const Worker& w, i64 d, i64& spent) {
    const i64* row = w.level(d);
    const Source source = enter(w, d);
    i64 n = 0;
    ++spent;
    if (!is_plain(w, row)) {
        ROLLED for (at_t base = source.span.start; base < source.span.end; base += 32, ++spent) {
            const at_t at = base + lane();
            n += __popc(__ballot_sync(ALL_LANES, at < source.span.end && accepts(w, d, source, at)));
        }
        return n;
    }
    n = source.span.end - source.span.start;
    UNROLLED for (i64 r = row[LEVEL_DIFFERS]; n > 0 && r < row[LEVEL_DIFFERS_END]; ++r) {
        const i64 x = w.v(w.ref(r));
        bool again = false;  // homomorphic vertices may coincide: take each off once
        UNROLLED for (i64 q = row[LEVEL_DIFFERS]; q < r; ++q) again = again || w.v(w.ref(q)) == x;
        if (again) continue;
        const u32* list = (const u32*)source.address;
        const i64 at = warp_lower_bound(list, source.span.start, source.span.end, x);
        n -= at < source.span.end && list[at] == x;
    }
    return n;
}

// Number of vids that levels d and e would both bind.
PART i64 count_common(const Worker& w, i64 d, i64 e, i64& spent) {
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
    ROLLED for (at_t base = few.span.start; base < few.span.end; base += 32, ++spent) {
        const at_t at = base + lane();
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

// How often `size` twins can be bound to n candidates; `approximate` is n, or about n, and becomes about the answer, infinite
// where that may exceed 2^63.
PART i64 ways(i64 n, i64 size, i64 formula, double& approximate) {
    if (size == 1) return n;
    i64 total = 1;
    const double about = approximate;
    approximate = 1.0;
    ROLLED for (i64 i = 0; i < size; ++i) {
        const bool power = formula == FORMULA_POWER;
        approximate *= power ? about : max(about - (double)i, 0.0);
        if (approximate > LARGEST_COUNT) {
            approximate = INFINITE;
            return 0;
        }
        total *= power ? n : max(n - i, 0LL);
        if (formula == FORMULA_BINOMIAL) {
            total /= i + 1;
            approximate /= (double)(i + 1);
        }
    }
    return total;
}

// Ways to bind a node without edges, with its partner where it is one of a PAIR.
PART i64 count_lone(const Worker& w, i64 c, double& approximate, i64& spent) {
    const i64* row = w.node(c);
    const i64 n = count_level(w, row[NODE_LEVEL], spent);
    approximate = (double)n;
    if (n == 0) return 0;
    if (row[NODE_FORMULA] != FORMULA_PAIR) return ways(n, row[NODE_SIZE], row[NODE_FORMULA], approximate);
    const i64 d = row[NODE_LEVEL], e = w.node(c + 1)[NODE_LEVEL];  // counted as if free of one another, less what is one vertex
    const i64 other = count_level(w, e, spent);
    approximate *= (double)other;
    if (other == 0 || approximate > LARGEST_COUNT) return 0;
    return n * other - count_common(w, d, e, spent);
}

// ---- trees ---------------------------------------------------------------------------------------------------------------

// The vid range of a child's label below its parent's vertex x.
__device__ INLINE Range child_range(const Worker& w, const i64* child, i64 x) {
    const i64* level = w.level(child[NODE_LEVEL]);
    Range range = {level[LEVEL_LO], level[LEVEL_HI]};
    if (child[NODE_ORDER] == ORDER_BELOW) range.end = min(range.end, x);
    if (child[NODE_ORDER] == ORDER_ABOVE) range.start = max(range.start, x + 1);
    return range;
}

// Each lane: the number of elements of its part of a row that level d would bind.
PART i64 count_slice(const Worker& w, i64 d, const i64* view, bool simple, Span span) {
    const i64* row = w.level(d);
    const u32* list = row_list(view, span);
    i64 n = 0;
    if (!simple || row[LEVEL_BITS] >= 0) {
        ROLLED for (at_t at = span.start; at < span.end; ++at)
            n += (at == span.start || list[at - 1] != list[at]) && admits(w, d, list[at]);
        return n;
    }
    n = span.end - span.start;
    UNROLLED for (i64 r = row[LEVEL_DIFFERS]; n > 0 && r < row[LEVEL_DIFFERS_END]; ++r) {
        const i64 x = w.v(w.ref(r));
        bool again = false;  // homomorphic vertices may coincide: take each off once
        UNROLLED for (i64 q = row[LEVEL_DIFFERS]; q < r; ++q) again = again || w.v(w.ref(q)) == x;
        if (again) continue;
        const i64 at = lower_bound(list, span.start, span.end, x);
        n -= at < span.end && list[at] == x;
    }
    return n;
}

// The vertices that a MARK node may be bound to. A filter in shared memory, of a bit for each residue, says which are not; where
// there are fewer vids than bits it also says which are, else those that pass are looked for in the list. A list too long for
// the filter has a bit for each vid in the node's scratch.
struct Held {
    const u32* filter;
    const u32* bits;
    const u32* list;
    Span span;
    u32 residues;
    i64 level;  // -1: only the list is read
    bool exact;

    __device__ INLINE bool may_have(u32 x) const {
        if (bits) return bits[x >> 5] >> (x & 31) & 1;
        const u32 bit = x & (residues - 1);
        return filter[bit >> 5] >> (bit & 31) & 1;
    }
    // whether that is so, of one that it may have
    __device__ INLINE bool confirms(const Worker& w, u32 x) const {
        if (bits || exact) return true;
        const i64 at = lower_bound(list, span.start, span.end, x);
        return at < span.end && list[at] == x && (level < 0 || admits(w, level, x));
    }
    __device__ bool has(const Worker& w, u32 x) const { return may_have(x) && confirms(w, x); }
};

// Whether a list is a long row that is read through the link, where to look for an element costs a read for each step.
__device__ INLINE bool is_far(const Worker& w, const i64* row, const Held& found) {
#ifdef COLD
    if (row[LEVEL_BASE] != KIND_ROW || found.span.size() <= FAR_LONG) return false;
    return found.list == neighbours(w.view(row[LEVEL_BASE_A])).cold;
#else
    return false;
#endif
}

// Read a list by the whole warp: use(x) takes each element, in all lanes at once, NONE past the end. Where it is read through the
// link, a warp that waited for each read would take a hundred times as long as others.
template <class Use>
__device__ INLINE void each_ahead(const u32* list, const Span& span, Use use) {
#ifdef COLD
    constexpr int ahead = 8;
#else
    constexpr int ahead = AHEAD;
#endif
    ROLLED for (at_t base = span.start; base < span.end; base += 32 * ahead) {
        u32 some[ahead];
#pragma unroll
        for (int k = 0; k < ahead; ++k) some[k] = base + 32 * k + lane() < span.end ? list[base + 32 * k + lane()] : NONE;
#pragma unroll
        for (int k = 0; k < ahead; ++k) use(some[k]);
    }
}

PART Held held(const Worker& w, i64 c, i64& spent) {
    const TailNode node = tail_node(w, c);
    const i64 d = w.node(c)[NODE_LEVEL];
    const bool tested = w.level(d)[LEVEL_FLAGS] & (FLAG_DIFFERS | FLAG_BITS);
    const u32 most_residues = (u32)w.get(JOB_FILTER_BITS);
    Held found = {w.filters + w.table(JOB_FILTER_AT)[c], nullptr, node.list(), node.span(), most_residues,
                  tested ? d : -1, w.get(JOB_VIDS) <= most_residues};
    if (!found.exact) {
        if (4 * found.span.size() > most_residues || is_far(w, w.level(d), found)) found.bits = (const u32*)scratch(w, c);
        else found.residues = min(most_residues, max(1024u, 1u << (40 - __clz((u32)found.span.size() | 1u))));
    }
    if (node.at[TAIL_USED]) return found;
    node.use(found.bits ? 1 : 1 + found.residues);
    u32* target = found.bits ? (u32*)found.bits : (u32*)found.filter;
    const u32 most = found.bits ? ~0u : found.residues - 1;
    each_ahead(node.list(), found.span, [&](u32 x) {
        if (x == NONE || !admits(w, d, x)) return;
        atomicOr(target + ((x & most) >> 5), 1u << (x & most & 31));
    });
    spent += found.span.size() / 32;
    __syncwarp();
    return found;
}

// Each active lane: the weight that child c gives to its parent's vertex x, and about the same.
PART i64 pull(const Worker& w, i64 c, i64 x, bool active, double& approximate, i64& spent) {
    const i64* child = w.node(c);
    const i64 d = child[NODE_LEVEL];
    const i64* view = w.view(child[NODE_VIEW]);
    const auto near = neighbours(view);
    const bool simple = w.table(JOB_SIMPLE)[child[NODE_VIEW]];
    Range range = child_range(w, child, x);
    ++spent;
    if (child[NODE_ROLE] == ROLE_SLICE) {
        const Range more = bounds(w, w.level(d), LEVEL_LO, LEVEL_BELOW, LEVEL_ABOVE);
        range = {max(range.start, more.start), min(range.end, more.end)};
        const i64 n = active ? count_slice(w, d, view, simple, row_slice(view, x, range.start, range.end)) : 0;
        approximate = (double)n;
        return n;
    }
    const Span row = active ? row_slice(view, x, range.start, range.end) : Span{0, 0};
    i64 total = 0;
    if (child[NODE_ROLE] == ROLE_MARK) {
        const Source source = {tail_node(w, c).at[TAIL_LIST], tail_node(w, c).span()};
        const u32* theirs = (const u32*)source.address;
        const u32 rows = __popc(__ballot_sync(ALL_LANES, row.size() > 0));
        const u32 fewer = rows * (u32)min((i64)source.span.size(), 1LL << 24);
        const u32 more = warp_sum((u32)min((i64)row.size(), 1LL << 24));
        approximate = 0.0;
        if (fewer == 0) return 0;
        u32 fitting = 0;
        const auto count = [&](u32 ranges, int lanes) {
            total += found_in(fitting, ranges, lanes);
            fitting = 0;
        };
        if (SEARCH * fewer < more) {  // look for theirs in the rows, not for what the rows hold among theirs
            const bool plain = !(w.level(d)[LEVEL_FLAGS] & (FLAG_DIFFERS | FLAG_BITS | FLAG_REPEATS));
            Span part = row.size() ? source.span : Span{0, 0};  // what of their list lies on the right side of x
            if (child[NODE_ORDER] == ORDER_BELOW) part.end = lower_bound(theirs, part.start, part.end, x);
            if (child[NODE_ORDER] == ORDER_ABOVE) part.start = lower_bound(theirs, part.start, part.end, x + 1);
            each_position(
                part, ALONE,
                [&](int owner) {
                    return Span{__shfl_sync(ALL_LANES, row.start, owner), __shfl_sync(ALL_LANES, row.end, owner)};
                },
                [&](Span in, at_t, at_t at) {
                    if (!(plain || accepts(w, d, source, at))) return NONE;
                    const u32* list = row_list(view, in);
                    const i64 y = theirs[at], place = lower_bound(list, in.start, in.end, y);
                    return place < in.end && list[place] == y ? 1u : NONE;
                },
                [&](Span, u32 fits) {
                    fitting += fits == 1u;
                },
                count, spent);
        } else {
            const Held wanted = held(w, c, spent);
#ifdef SPECIAL
            if (simple && w.get(JOB_PACKS) && !wanted.exact && !wanted.bits) {  // else nothing is to be confirmed
                u32* found = Pack{w.packed}.found();
                found[lane()] = 0;
                __syncwarp();
                each_hit(
                    Pack{w.packed}, row, [&](at_t at) { return near[at]; }, [&](u32 y) { return wanted.may_have(y); },
                    [&](int owner, u32 y, bool active) {
                        if (active && wanted.confirms(w, y)) atomicAdd(found + owner, 1u);
                    },
                    spent);
                total = found[lane()];
                __syncwarp();
                approximate = (double)total;
                return total;
            }
#endif
            each_position(
                row, read_alone(view, row), nothing,
                [&](Nothing, at_t start, at_t at) {
                    return simple || at == start || near[at - 1] != near[at] ? near[at] : NONE;
                },
                [&](Nothing, u32 y) {
                    fitting += y != NONE && wanted.has(w, y);
                },
                count, spent);
        }
        approximate = (double)total;
        return total;
    }
    const i64* weights = (const i64*)scratch(w, c);
    approximate = 0.0;
    i64 sum = 0;
    double about = 0.0;
    each_position(
        row, read_alone(view, row), nothing,
        [&](Nothing, at_t start, at_t at) { return simple || at == start || near[at - 1] != near[at] ? near[at] : NONE; },
        [&](Nothing, u32 y) {
            const i64 weight = y != NONE ? weights[y] : 0;
            sum += weight;
            about += (double)weight;
        },
        [&](u32 ranges, int lanes) {
            total += found_in(sum, ranges, lanes);
            approximate += found_in(about, ranges, lanes);
            sum = 0;
            about = 0.0;
        },
        spent);
    return total;
}

// Each active lane: the product of what the children of node c that have not spread, but one, give to x, and about the same.
__device__ INLINE i64 weigh(const Worker& w, i64 c, i64 x, bool active, i64 but, double& approximate, i64& spent) {
    i64 total = active ? 1 : 0;
    approximate = active ? 1.0 : 0.0;
    each_node(w, [&](i64 k) INLINED {
        if (w.node(k)[NODE_PARENT] != c || k == but || !__any_sync(ALL_LANES, total != 0)) return;
        if (w.table(JOB_SPREAD_AT)[k] >= 0 && tail_node(w, k).at[TAIL_SPREAD]) return;  // known already
        double about;
        i64 n = pull(w, k, x, total != 0, about, spent);
        n = ways(n, w.node(k)[NODE_SIZE], w.node(k)[NODE_FORMULA], about);
        if (total == 0) return;
        approximate *= about;
        if (approximate > LARGEST_COUNT) approximate = INFINITE;
        total = approximate < INFINITE ? total * n : 1;  // 1: go on, whatever the others say
        if (n == 0 && about == 0.0) total = 0, approximate = 0.0;
    });
    return total;
}

#ifdef SPECIAL
// Whether two levels loop over one list, whatever they take of it.
__device__ INLINE bool same_list(const Worker& w, i64 d, i64 e) {
    const i64 *a = w.level(d), *b = w.level(e);
    bool same = !a[LEVEL_IS_EDGE] && !b[LEVEL_IS_EDGE];
    same = same && a[LEVEL_BASE] == b[LEVEL_BASE] && a[LEVEL_BASE_A] == b[LEVEL_BASE_A] && a[LEVEL_BASE_B] == b[LEVEL_BASE_B];
    same = same && a[LEVEL_LO] == b[LEVEL_LO] && a[LEVEL_HI] == b[LEVEL_HI];
    const i64 below = a[LEVEL_BELOW_END] - a[LEVEL_BELOW], above = a[LEVEL_ABOVE_END] - a[LEVEL_ABOVE];
    same = same && below == b[LEVEL_BELOW_END] - b[LEVEL_BELOW] && above == b[LEVEL_ABOVE_END] - b[LEVEL_ABOVE];
    UNROLLED for (i64 r = 0; same && r < below; ++r) same = w.ref(a[LEVEL_BELOW] + r) == w.ref(b[LEVEL_BELOW] + r);
    UNROLLED for (i64 r = 0; same && r < above; ++r) same = w.ref(a[LEVEL_ABOVE] + r) == w.ref(b[LEVEL_ABOVE] + r);
    return same;
}

// Whether 63 bits hold whatever the sum over node c's candidates may be: of one row's length for each.
__device__ INLINE bool is_small(const Worker& w, i64 c) {
#ifdef NARROW
    const i64 k = w.node(c)[NODE_CHILD];
    if (k < 0) return false;
    const i64* child = w.node(k);
    return child[NODE_NEXT] < 0 && child[NODE_SIZE] == 1 && (child[NODE_ROLE] == ROLE_MARK || child[NODE_ROLE] == ROLE_SLICE);
#else
    return false;
#endif
}
#else
__device__ INLINE bool is_small(const Worker&, i64) { return false; }
#endif

// What an INNER node's candidates are, which one of its children has looked up already where that has the same.
__device__ INLINE Source source_of(const Worker& w, i64 c) {
    const i64 d = w.node(c)[NODE_LEVEL];
#ifdef SPECIAL
    const i64 k = w.node(c)[NODE_CHILD];
    if (k >= 0 && w.node(k)[NODE_ROLE] == ROLE_MARK && same_list(w, d, w.node(k)[NODE_LEVEL]))
        return {tail_node(w, k).at[TAIL_LIST], tail_node(w, k).span()};
#endif
    return enter(w, d);
}

// Weigh the candidates of an INNER node: their sum, and about the same; those of a node that is no root are kept.
PART i64 fold(const Worker& w, i64 c, double& approximate, i64& spent) {
    const TailNode node = tail_node(w, c);
    const i64 d = w.node(c)[NODE_LEVEL];
    const bool root = w.node(c)[NODE_PARENT] < 0, small = root && is_small(w, c);
    const Source source = source_of(w, c);
    const Span part = c == w.get(JOB_CUT_NODE) ? unit_part(w, source.address, source.span) : source.span;
    node.set(source.address, source.span);
    if (!root) node.use(1);
    i64* weights = root ? nullptr : (i64*)scratch(w, c);
    i64 total = 0;
    double sum = 0.0;
    ROLLED for (at_t base = part.start; base < part.end; base += 32, ++spent) {
        const at_t at = base + lane();
        const bool active = at < part.end && accepts(w, d, source, at);
        const i64 x = active ? ((const u32*)source.address)[at] : 0;
        double about;
        const i64 n = weigh(w, c, x, active, -1, about, spent);
        total += n;
        if (!small) sum += about;
        if (!root && active) weights[x] = n;
    }
    __syncwarp();
    total = warp_sum(total);
    approximate = small ? (double)total : warp_sum(sum);
    return total;
}

// The part of a range of vids that the work unit is about, of about as many edges as the others.
__device__ INLINE Range vid_part(const Worker& w, const i64* view, Range range) {
    const i64* first = w.table(JOB_FIRST_UNIT) + ((const u32*)w.get(JOB_UNIT_ROOTS))[w.state[WARP_UNIT]];
    const i64 parts = first[1] - first[0], part = w.state[WARP_UNIT] - first[0];
    if (parts == 1) return range;
    if (view[VIEW_INTERVALS] != 1) {
        range.end = min(range.end, w.get(JOB_VIDS));
        const i64 size = max(range.size(), 0LL);
        return {range.start + size * part / parts, range.start + size * (part + 1) / parts};
    }
    const auto offset = [&](i64 row) { return row_offsets(view, view[VIEW_ROW0] + row)[0]; };
    const i64 begin = min(max(range.start - view[VIEW_FIRST0], 0LL), view[VIEW_LENGTH0]);
    const i64 end = max(min(range.end - view[VIEW_FIRST0], view[VIEW_LENGTH0]), begin);
    const i64 first_edge = offset(begin), edges = offset(end) - first_edge;
    Range found = {begin, end};
    ROLLED for (int side = 0; side < 2; ++side) {
        const i64 wanted = first_edge + edges * (part + side) / parts;
        i64 low = begin, high = end;
        ROLLED while (low < high) {
            const i64 middle = (low + high) >> 1;
            if (offset(middle) < wanted) low = middle + 1;
            else high = middle;
        }
        if (side) found.end = part + 1 == parts ? end : low;
        else found.start = low;
    }
    return {view[VIEW_FIRST0] + found.start, view[VIEW_FIRST0] + found.end};
}

#ifdef COLD
// Read rows in the memory of the host, those of the lanes in `chosen`, each by the whole warp, a line at a time and no further
// than their vids lie in [low, high): from the end where there is a lower bound. To search for the places of the bounds takes
// a read of the link for each step, as long as two lines take. context and use: as for `read_ranges`; test(start, at) says
// whether an element counts.
template <class Context, class Test, class Use>
__device__ INLINE void read_far(u32 chosen, const u32* list, Span range, u32 low, u32 high, Context context, Test test, Use use,
                                i64& spent) {
    constexpr int line = 32, ahead = 2;
    ROLLED while (chosen) {
        const int owner = __ffs(chosen) - 1;
        chosen &= chosen - 1;
        const at_t start = __shfl_sync(ALL_LANES, range.start, owner), end = __shfl_sync(ALL_LANES, range.end, owner);
        const u32 least = __shfl_sync(ALL_LANES, low, owner), most = __shfl_sync(ALL_LANES, high, owner);
        const auto known = context(owner);
        const bool back = least > 0;
        const at_t step = back ? -line : line;
        at_t at = ((back ? end - 1 : start) & ~(at_t)(line - 1)) + lane();
        bool more = true;
        ROLLED while (more) {
            u32 values[ahead];
#pragma unroll
            for (int k = 0; k < ahead; ++k) {
                const at_t place = at + k * step;
                values[k] = place >= start && place < end ? list[place] : NONE;
            }
            bool past = false;
#pragma unroll
            for (int k = 0; k < ahead; ++k) {
                const u32 x = values[k];
                past |= x != NONE && (back ? x < least : x >= most);
                const bool within = x != NONE && x >= least && x < most && test(start, at + k * step);
                use(known, within ? x : NONE);
            }
            at += ahead * step;
            more = __any_sync(ALL_LANES, at >= start && at < end) && !__any_sync(ALL_LANES, past);
            ++spent;
        }
    }
}
#endif

// Visit what child c reaches from its list within a range of its parent's vids: visit(x, weight) in all lanes at once, x
// being NONE in some.
template <class Visit>
__device__ INLINE void each_reached(const Worker& w, i64 c, Range range, Visit visit, i64& spent) {
    const i64* child = w.node(c);
    const TailNode from = tail_node(w, c);
    const i64* view = w.view(child[NODE_BACK]);
    const auto near = neighbours(view);
    const bool simple = w.table(JOB_SIMPLE)[child[NODE_BACK]], leaf = child[NODE_ROLE] == ROLE_MARK;
    const i64 theirs = child[NODE_LEVEL];
    const i64* their_weights = leaf ? nullptr : (const i64*)scratch(w, c);
    const Source source = {from.at[TAIL_LIST], from.span()};
    ROLLED for (at_t base = source.span.start; base < source.span.end; base += 32, ++spent) {
        const at_t at = base + lane();
        i64 z = 0, weight = 0;
        if (at < source.span.end) {
            z = ((const u32*)source.address)[at];
            if (leaf) weight = accepts(w, theirs, source, at);
            else if (at == source.span.start || ((const u32*)source.address)[at - 1] != z) weight = their_weights[z];
        }
        const i64 least = child[NODE_ORDER] == ORDER_BELOW ? max(range.start, z + 1) : range.start;
        const i64 most = child[NODE_ORDER] == ORDER_ABOVE ? min(range.end, z) : range.end;
        Span part = weight ? row_side(view, z, least, most) : Span{0, 0};
        const auto context = [&](int owner) { return __shfl_sync(ALL_LANES, weight, owner); };
        const auto use = [&](i64 more, u32 x) { visit(x, more); };
#ifdef COLD
        const u32 low = (u32)max(least, 0LL), high = (u32)max(min(most, w.get(JOB_VIDS)), 0LL);
        // with both bounds a long row is searched
        const bool one_end = part.size() <= FAR_SHORT || low == 0 || high == w.get(JOB_VIDS);
        const bool far = part.size() > 0 && one_end && row_list(view, part) == near.cold;
        const u32 chosen = __ballot_sync(ALL_LANES, far);
        read_far(
            chosen, near.cold, part, low, high, context,
            [&](at_t start, at_t place) { return simple || place == start || near.cold[place - 1] != near.cold[place]; },
            use, spent);
        if (far) part = {0, 0};
#endif
        if (part.size() > 0) part = side_slice(view, part, z, least, most);
        each_position(
            part, ALONE, context,
            [&](i64, at_t start, at_t position) {
                return simple || position == start || near[position - 1] != near[position] ? near[position] : NONE;
            },
            use, [](u32, int) {}, spent);
    }
}

// Counters of 8, 16 or 32 bits in words of 32: 1 << PACK of them in each.
struct Counters {
    u32* words;
    int pack;

    // No vertex is counted more often than MOST times.
    __device__ INLINE Counters(u32* at, i64 most) : words(at), pack(most < 1 << 8 ? 2 : most < 1 << 16 ? 1 : 0) {}

    // Add one for a vertex: what was there before.
    __device__ INLINE u32 add(u32 x) const {
        const u32 shift = (x & ((1u << pack) - 1)) << (5 - pack);
        return (atomicAdd(words + (x >> pack), 1u << shift) >> shift) & (ALL_LANES >> (32 - (32 >> pack)));
    }

    // The counter of a vertex is zero; and those in its word, which all are to be.
    __device__ INLINE void clear(u32 x) const { words[x >> pack] = 0; }

    // All of a range are zero, in order, where that takes less time than so many one by one; whether it did.
    __device__ INLINE bool clear_all(Range range, i64 reached) const {
        if (range.size() <= 0) return true;
        const i64 begin = range.start >> pack, end = ((range.end - 1) >> pack) + 1;
        if (FAR_COST * reached <= end - begin) return false;
        ROLLED for (i64 k = begin + lane(); k < end; k += 32) words[k] = 0;
        return true;
    }
};

// What a PAIRED root counts: the sum over its vertices of n (n - 1), or n^2 for POWER, n being how often it is reached; each
// time it is reached adds how often it was before. That is less often than its child's list has elements, and counters are as
// wide as that needs: the narrower, the more of them stay in the cache.
PART i64 push_pairs(const Worker& w, i64 c, Range range, i64& spent) {
    const i64* row = w.node(c);
    // the first that are reached, so that their rows need not be read through the link again
    u32* touched = (u32*)scratch(w, c);
    const i64 room = w.get(JOB_VIDS) / FAR_COST;
    const Counters times(touched + room, tail_node(w, row[NODE_PUSHER]).span().size());
    i64 total = 0, reached = 0;
    each_reached(
        w, row[NODE_PUSHER], range,
        [&](u32 x, i64) {
#ifdef COLD
            const u32 some = __ballot_sync(ALL_LANES, x != NONE);
            const i64 at = reached + __popc(some & lanes_before());
            reached += __popc(some);
            if (x == NONE) return;
            if (at < room) touched[at] = x;
#else
            if (x == NONE) return;
            ++reached;
#endif
            total += times.add(x);
        },
        spent);
    __syncwarp();
#ifndef COLD
    reached = warp_sum(reached);
#endif
    const Range all = {max(range.start, 0LL), min(range.end, w.get(JOB_VIDS))};
    if (!times.clear_all(all, reached)) {
#ifdef COLD
        ROLLED for (i64 k = lane(); k < reached; k += 32) times.clear(touched[k]);
#else
        each_reached(
            w, row[NODE_PUSHER], range, [&](u32 x, i64) { if (x != NONE) times.clear(x); }, spent);
#endif
    }
    __syncwarp();
    total = warp_sum(total);
    const i64 formula = w.node(row[NODE_PUSHER])[NODE_FORMULA];
    if (formula == FORMULA_BINOMIAL) return total;
    return formula == FORMULA_FALLING ? 2 * total : 2 * total + reached;
}

// Weigh the vertices that a PUSHED node's pusher reaches: as `fold`.
PART i64 push(const Worker& w, i64 c, double& approximate, i64& spent) {
    const TailNode node = tail_node(w, c);
    const i64* row = w.node(c);
    const i64 d = row[NODE_LEVEL];
    const i64* pusher = w.node(row[NODE_PUSHER]);
    const bool only = w.node(row[NODE_CHILD])[NODE_NEXT] < 0;
    const bool root = row[NODE_PARENT] < 0, tested = w.level(d)[LEVEL_FLAGS] & (FLAG_DIFFERS | FLAG_BITS);
    Range range = bounds(w, w.level(d), LEVEL_LO, LEVEL_BELOW, LEVEL_ABOVE);
    if (c == w.get(JOB_CUT_NODE)) range = vid_part(w, w.view(pusher[NODE_VIEW]), range);
    approximate = 0.0;
    if (row[NODE_PAIRED]) {
        const i64 n = push_pairs(w, c, range, spent);
        approximate = (double)n;
        return n;
    }
    unsigned long long* weights = (unsigned long long*)scratch(w, c);
    u32* touched = (u32*)(weights + w.get(JOB_VIDS));
    i64 count = 0;
    double reached = 0.0;
    each_reached(
        w, row[NODE_PUSHER], range,
        [&](u32 x, i64 more) {
            const bool first = x != NONE && atomicAdd(weights + x, (unsigned long long)more) == 0;
            const u32 firsts = __ballot_sync(ALL_LANES, first);
            if (first) touched[count + __popc(firsts & lanes_before())] = x;
            count += __popc(firsts);
            if (x != NONE) reached += (double)more;
        },
        spent);
    node.use(1);
    node.set((i64)touched, {0, count});
    approximate = warp_sum(reached);
    if (approximate > LARGEST_COUNT) return 0;  // some weight may have passed 2^63
    bool fits = true;
    // other children with a list add to the same vertices, where that is less than to look them up
    each_node(w, [&](i64 k) INLINED {
        if (w.node(k)[NODE_PARENT] != c || k == row[NODE_PUSHER] || w.table(JOB_SPREAD_AT)[k] < 0) return;
        const TailNode child = tail_node(w, k);
        const bool spread = child.span().size() <= count;
        __syncwarp();
        if (lane() == 0) child.at[TAIL_SPREAD] = spread;
        __syncwarp();
        if (!spread) return;
        unsigned long long* sums = (unsigned long long*)(w.scratch + w.table(JOB_SPREAD_AT)[k]);
        double about = 0.0;
        each_reached(
            w, k, range,
            [&](u32 x, i64 more) {
                if (x == NONE || weights[x] == 0) return;
                atomicAdd(sums + x, (unsigned long long)more);
                about += (double)more;
            },
            spent);
        fits = fits && warp_sum(about) <= LARGEST_COUNT;
    });
    if (!fits) {
        each_node(w, [&](i64 k) INLINED {
            if (w.node(k)[NODE_PARENT] != c || k == row[NODE_PUSHER] || w.table(JOB_SPREAD_AT)[k] < 0) return;
            i64* sums = (i64*)(w.scratch + w.table(JOB_SPREAD_AT)[k]);
            ROLLED for (i64 i = lane(); i < count; i += 32) sums[touched[i]] = 0;
        });
        approximate = INFINITE;
        return 0;
    }
    i64 total = 0;
    double sum = 0.0;
    ROLLED for (i64 base = 0; base < count; base += 32, ++spent) {
        const bool there = base + lane() < count;
        const u32 x = there ? touched[base + lane()] : 0;
        const bool active = there && (!tested || admits(w, d, x));
        double about = active ? (double)(i64)weights[x] : 0.0;
        i64 n = active ? ways((i64)weights[x], pusher[NODE_SIZE], pusher[NODE_FORMULA], about) : 0;
        if (!only) {
            each_node(w, [&](i64 k) INLINED {
                if (w.node(k)[NODE_PARENT] != c || k == row[NODE_PUSHER] || w.table(JOB_SPREAD_AT)[k] < 0) return;
                if (!tail_node(w, k).at[TAIL_SPREAD]) return;
                i64* sums = (i64*)(w.scratch + w.table(JOB_SPREAD_AT)[k]);
                double more_about = there ? (double)sums[x] : 0.0;
                const i64 more = there ? ways(sums[x], w.node(k)[NODE_SIZE], w.node(k)[NODE_FORMULA], more_about) : 0;
                if (there) sums[x] = 0;
                n *= more;
                about *= more_about;
                if (about > LARGEST_COUNT) about = INFINITE;
            });
            double others;
            const i64 more = weigh(w, c, x, n != 0 || about > LARGEST_COUNT, row[NODE_PUSHER], others, spent);
            n *= more;
            about *= others;
            if (about > LARGEST_COUNT) about = INFINITE;
        }
        if (there && !root) weights[x] = (unsigned long long)n;
        total += n;
        sum += about;
    }
    __syncwarp();
    approximate = warp_sum(sum);
    return warp_sum(total);
}

// Leave every scratch as it was: zero.
PART void clear(const Worker& w) {
    each_node(w, [&](i64 c) INLINED {
        const i64 role = w.node(c)[NODE_ROLE];
        if (role == ROLE_LONE || role == ROLE_SLICE) return;
        const TailNode node = tail_node(w, c);
        const i64 used = node.at[TAIL_USED];
        if (!used) return;
        if (used > 1 && 64 * node.span().size() < used) {
            u32* filter = w.filters + w.table(JOB_FILTER_AT)[c];
            const Span span = node.span();
            ROLLED for (at_t at = span.start + lane(); at < span.end; at += 32) filter[(node.list()[at] & (u32)(used - 2)) >> 5] = 0;
        } else if (used > 1) {
            u32* filter = w.filters + w.table(JOB_FILTER_AT)[c];
            ROLLED for (i64 k = lane(); k < used / 32; k += 32) filter[k] = 0;
        } else {
            u32* bits = (u32*)scratch(w, c);
            i64* weights = (i64*)scratch(w, c);
            const Span span = node.span();
            each_ahead(node.list(), span, [&](u32 x) {
                if (x == NONE) return;
                if (role == ROLE_MARK) bits[x >> 5] = 0;
                else weights[x] = 0;
            });
        }
        __syncwarp();
        if (lane() == 0) node.at[TAIL_USED] = 0;
        __syncwarp();
    });
}

// Embeddings of the nodes [first, after) of the tail below the bound levels; false where they may exceed 2^63 (a double follows
// along to see that).
PART bool count_tail(const Worker& w, i64 first, i64 after, i64& total, i64& spent) {
    total = 1;
    double shadow = 1.0;
    bool trees = false;
    bool fits = true, counted = false;
    i64 absent = -1;  // the last node of an optional tree that is not there
    each_node(w, [&](i64 c) INLINED {
        if (c < first || c >= after || c <= absent) return;
        const i64* row = w.node(c);
        const i64 role = row[NODE_ROLE];
        const bool pair = role == ROLE_LONE && row[NODE_FORMULA] == FORMULA_PAIR;
        counted = pair && !counted;
        if (pair && !counted) return;  // with the other of the pair, which comes before it
        if (total == 0 || !fits || role == ROLE_SLICE) return;
        i64 n = 1;
        double approximate = 1.0;
        if (role == ROLE_LONE) {
            n = count_lone(w, c, approximate, spent);
        } else if (role == ROLE_MARK) {
            const Source source = enter(w, row[NODE_LEVEL]);
            tail_node(w, c).set(source.address, source.span);
            if (source.span.size() == 0) n = 0, approximate = 0.0;
        } else {
            trees = true;
            n = role == ROLE_INNER ? fold(w, c, approximate, spent) : push(w, c, approximate, spent);
            if (row[NODE_PARENT] >= 0 && approximate > 0.0 && approximate < LARGEST_COUNT) n = 1, approximate = 1.0;
        }
        spent += 2;
        if (row[NODE_OPTIONAL] >= 0 && n == 0 && approximate <= LARGEST_COUNT) {
            n = 1;
            approximate = 1.0;
            absent = row[NODE_OPTIONAL];
            counted = false;
        }
        shadow *= approximate;
        fits = shadow <= LARGEST_COUNT;
        total *= n;
    });
    if (trees) clear(w);
    return fits;
}
