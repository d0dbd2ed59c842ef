// Counting in bits over a neighbourhood of any size (`executor/nest/neighbourhood.py`; the local graphs of G2Miner §4.2, the
// bitmaps of the thesis §1.6).
//
// The neighbours of the vertex that the frame is bound to have positions in the order of their vids. Which of them are
// neighbours of one another is a matrix of bits, made once for a view (`fill_matrices`), so that any warp which is given a
// part of the work finds it. A candidate set is a row of bits in shared memory, a word in each lane while it is narrowed; it
// is narrowed when a vertex is bound, whether that is a neighbour of the frame or not. The last loop has an element in each
// lane, which counts its leaves word by word. The loop around it is the walker's, over positions instead of a list: it stops,
// goes on and is given away in parts as any other.
//
// Special kernels only, which know the tables (`executor/gpu/bits.py`) as constants. Where the frame has no matrix, the nest
// runs over lists unchanged.

#include "tail.cuh"

#ifdef SPECIAL_BITS

// The neighbourhood that a warp is in: at the beginning of its shared memory.
struct Frame {
    i64 start;   // of the neighbours in the frame's view
    i64 matrix;  // where the rows begin in the matrices of each view, in u32
    int size, words, stride;
    int unused;
};

static_assert(sizeof(Frame) == 4 * BITS_FRAME_WORDS, "the head of a warp's bits");
static_assert(BITS_WORDS % 4 == 0 && BITS_WORDS <= 64, "a lane has two words of a row, and reads four at once");

__device__ INLINE Frame& frame_of(const Worker& w) { return *(Frame*)w.local; }
// what level k is bound to: the number of positions below it, and whether it is itself the next
__device__ INLINE u32& place_of(const Worker& w, i64 k) { return w.local[BITS_FRAME_WORDS + k]; }
__device__ INLINE u32* bits_of(const Worker& w, i64 set) { return w.local + BITS_HEAD + set * BITS_WORDS; }
__device__ INLINE u32* row_outside(const Worker& w, i64 k) { return bits_of(w, BITS_SETS + k); }
__device__ INLINE unsigned short* elements_of(const Worker& w) { return (unsigned short*)bits_of(w, BITS_SETS + BITS_OUTSIDE); }

__device__ INLINE const i64* matrices_of(const Worker& w) { return (const i64*)w.get(JOB_MATRICES); }
__device__ INLINE const u32* matrix_row(const Worker& w, i64 view, int position) {
    return (const u32*)matrices_of(w)[view] + frame_of(w).matrix + (i64)position * frame_of(w).stride;
}

// The bits of a word from one on: all where that is not above 0, none where it is above 31.
__device__ INLINE u32 ones_from(int bit) {
    u32 found;
    asm("shl.b32 %0, %1, %2;" : "=r"(found) : "r"(~0u), "r"(max(bit, 0)));  // which shifts by more than 31 as well
    return found;
}

// Word k of a relation's row of a vertex at a position (`inside`: or that would be there), whose neighbours are `near`.
__device__ INLINE u32 related(const long long* relation, u32 near, int k, int position, bool inside) {
    u32 found = relation[RELATION_VIEW] < 0 ? ~0u : relation[RELATION_ANTI] ? ~near : near;
    const int here = position - 32 * k;
    if (relation[RELATION_ORDER] == ORDER_BELOW) found &= ~ones_from(here);
    if (relation[RELATION_ORDER] == ORDER_ABOVE) found &= ones_from(here + inside);
    if (relation[RELATION_DIFFERS]) found &= ~(inside ? ones_from(here) & ~ones_from(here + 1) : 0u);
    return found;
}

// ---- the frame -----------------------------------------------------------------------------------------------------------

// The frame has been bound: see whether it is counted in bits. A task that was begun over lists goes on over lists.
__device__ __noinline__ void open_frame(const Worker& w) {
    const i64* view = w.view(BITS_VIEW);
    const i64* matrices = (const i64*)matrices_of(w)[BITS_VIEW];
    const i64 row = row_number(view, w.v(BITS_FRAME));
    const bool wanted = matrices && row >= 0 && w.state[WARP_BITS] >= 0;
    const i64 matrix = wanted ? matrices[row] : -1;
    const i64* offsets = (const i64*)view[VIEW_OFFSETS] + max(row, 0LL);
    const int size = matrix >= 0 ? (int)(offsets[1] - offsets[0]) : 0, words = (size + 31) / 32;
    __syncwarp();
    if (lane() == 0) {
        w.state[WARP_BITS] = matrix >= 0 && words <= BITS_WORDS;
        frame_of(w) = {offsets[0], matrix, size, words, (words + 3) / 4 * 4, 0};
    }
    __syncwarp();
}

// Find the place of what level k is bound to.
__device__ INLINE void find_place(const Worker& w, i64 k) {
    const u32* near = neighbours(w.view(BITS_VIEW));
    const i64 start = frame_of(w).start, end = start + frame_of(w).size, x = w.v(k);
    const i64 at = warp_lower_bound(near, start, end, x);
    const u32 inside = at < end && near[at] == x;
    __syncwarp();
    if (lane() == 0) place_of(w, k) = (u32)(at - start) << 1 | inside;
    __syncwarp();
}

// Make the row that what level k is bound to, which is no neighbour of the frame, has in a view.
__device__ __noinline__ void make_row_outside(const Worker& w, i64 k, i64 view, u32* out, i64& spent) {
    const u32* near = neighbours(w.view(BITS_VIEW)) + frame_of(w).start;
    const u32* theirs = neighbours(w.view(view));
    const Span row = find_row(w.view(view), w.v(k));
    at_t from = row.start;
    ROLLED for (int base = 0; base < frame_of(w).size; base += 32, ++spent) {
        const int at = base + lane();
        // idle lanes search for more than any vid, so that lane 31 always ends furthest
        const i64 x = at < frame_of(w).size ? (i64)near[at] : 1LL << 32;
        const at_t found = lower_bound(theirs, from, row.end, x);
        const u32 word = __ballot_sync(ALL_LANES, found < row.end && (i64)theirs[found] == x);
        if (lane() == 0) out[base / 32] = word;
        from = __shfl_sync(ALL_LANES, found, 31);
    }
    __syncwarp();
}

// The sets that hold all positions whose vids lie in a range and in a bitset.
__device__ INLINE void start_sets(const Worker& w) {
    const Frame frame = frame_of(w);
    const u32* near = neighbours(w.view(BITS_VIEW));
    const i64 x = w.v(BITS_FRAME);
    UNROLLED for (int i = 0; i < BITS_STARTS; ++i) {
        const long long* row = NEST_STARTS + i * START_FIELDS;
        const i64 low = BITS_ORDER == ORDER_ABOVE ? max((i64)row[START_LO], x + 1) : (i64)row[START_LO];
        const i64 high = BITS_ORDER == ORDER_BELOW ? min((i64)row[START_HI], x) : (i64)row[START_HI];
        const Span part = warp_clip(near, {frame.start, frame.start + frame.size}, low, high);
        const int from = (int)(part.start - frame.start), to = (int)(part.end - frame.start);
        const u8* bits = w.bits(row[START_BITS]);
        u32* out = bits_of(w, row[START_SET]);
        ROLLED for (int k = lane(); k < frame.stride; k += 32) {  // and zeros behind, for they are read four at once
            u32 held = ones_from(from - 32 * k) & ~ones_from(to - 32 * k);
            if (bits) {
                ROLLED for (u32 left = held; left; left &= left - 1) {
                    const int at = __ffs(left) - 1;
                    if (!has_bit(bits, near[frame.start + 32 * k + at])) held &= ~(1u << at);
                }
            }
            out[k] = held;
        }
    }
}

// Run the operations that depend on level d, whose vertex is at a place; false if a set came out empty. A lane reads back no
// words but its own.
__device__ INLINE bool narrow(const Worker& w, i64 d, i64& spent) {
    const int words = frame_of(w).stride;
    UNROLLED for (int i = 0; i < BITS_OPERATIONS; ++i) {
        const long long* row = NEST_OPERATIONS + i * OPERATION_FIELDS;
        if (row[OPERATION_DEPTH] != d) continue;
        const long long* relation = NEST_RELATIONS + row[OPERATION_RELATION] * RELATION_FIELDS;
        const u32 place = place_of(w, row[OPERATION_LEVEL]);
        const int position = (int)(place >> 1);
        const bool inside = place & 1;
        const u32* near = nullptr;
        if (relation[RELATION_VIEW] >= 0) {
            if (row[OPERATION_OUTSIDE] < 0 || inside) near = matrix_row(w, relation[RELATION_VIEW], position);
            else near = row_outside(w, row[OPERATION_OUTSIDE]);
        }
        const u32* left = bits_of(w, row[OPERATION_LEFT]);
        u32* out = bits_of(w, row[OPERATION_OUT]);
        bool any = false;
        ROLLED for (int k = lane(); k < words; k += 32) {
            const u32 both = left[k] & related(relation, near ? near[k] : 0u, k, position, inside);
            out[k] = both;
            any = any || both;
        }
        ++spent;
        if (!__any_sync(ALL_LANES, any)) return false;
    }
    __syncwarp();
    return true;
}

// What depends on level d, which has just been bound; false if a set came out empty. Written out once for all levels.
__device__ __noinline__ bool compute_bits(const Worker& w, i64 d, i64& spent) {
    if (d >= BITS_FIRST) return true;
    ROLLED for (i64 k = d == BITS_FRAME ? 0 : d; k <= d; ++k)
        if (BITS_PLACED >> k & 1) find_place(w, k);
    UNROLLED for (int i = 0; i < BITS_OUTSIDE; ++i) {
        const long long* row = NEST_OUTSIDE + i * OUTSIDE_FIELDS;
        if (max(row[OUTSIDE_LEVEL], (long long)BITS_FRAME) != d || place_of(w, row[OUTSIDE_LEVEL]) & 1) continue;
        make_row_outside(w, row[OUTSIDE_LEVEL], row[OUTSIDE_VIEW], row_outside(w, i), spent);
    }
    if (d == BITS_FRAME) start_sets(w);
    return narrow(w, d, spent);
}

// ---- the last loop -------------------------------------------------------------------------------------------------------

// The operation that makes a set, if it depends on the last loop; else -1.
__device__ constexpr int made_last(long long set) {
    for (int i = 0; i < BITS_OPERATIONS; ++i) {
        const long long* row = NEST_OPERATIONS + i * OPERATION_FIELDS;
        if (row[OPERATION_OUT] == set && row[OPERATION_DEPTH] == BITS_LAST) return i;
    }
    return -1;
}

__device__ constexpr const long long* leaf(int e) { return NEST_LEAVES + e * LEAF_FIELDS; }

// Whether leaf e is counted with the next one, or with the one before it.
__device__ constexpr bool paired(int e) { return leaf(e)[LEAF_PAIR] || (e > 0 && leaf(e - 1)[LEAF_PAIR]); }

// Whether what leaf e may be bound to depends on the element of the last loop by more than whether that is taken off.
__device__ constexpr bool moves(int e) {
    return leaf(e)[LEAF_RELATION] >= 0 || made_last(leaf(e)[LEAF_SET]) >= 0 || (paired(e) && leaf(e)[LEAF_DIFFERS]);
}

// Whether all of leaf e lies in an order to the element of the last loop.
__device__ constexpr bool ordered(int e, long long order) {
    const long long* row = leaf(e);
    if (row[LEAF_RELATION] >= 0 && NEST_RELATIONS[row[LEAF_RELATION] * RELATION_FIELDS + RELATION_ORDER] == order) return true;
    for (int i = made_last(row[LEAF_SET]); i >= 0; i = made_last(NEST_OPERATIONS[i * OPERATION_FIELDS + OPERATION_LEFT])) {
        const long long relation = NEST_OPERATIONS[i * OPERATION_FIELDS + OPERATION_RELATION];
        if (NEST_RELATIONS[relation * RELATION_FIELDS + RELATION_ORDER] == order) return true;
    }
    return false;
}

__device__ constexpr bool all_ordered(long long order) {
    for (int e = 0; e < BITS_LEAVES; ++e)
        if (moves(e) && !ordered(e, order)) return false;
    return true;
}

__device__ constexpr bool any_moves() {
    for (int e = 0; e < BITS_LEAVES; ++e)
        if (moves(e)) return true;
    return false;
}

// Whether no count of one part of a chunk can pass 2^63: of 2^11 positions each.
__device__ constexpr bool is_safe() {
    long long sizes = 2;  // the two loops
    for (int e = 0; e < BITS_LEAVES; ++e) sizes += leaf(e)[LEAF_SIZE];
    return 11 * sizes <= 62;
}

struct Words {
    u32 at[4];
};

// The last loop's element: its position, and its row in the matrices of each view that is read.
struct Element {
    int position;
    const u32* rows[BITS_VIEWS];
};

__device__ INLINE Element element_at(const Worker& w, int position) {
    Element found;
    found.position = position;
#pragma unroll
    for (int i = 0; i < BITS_VIEWS; ++i) found.rows[i] = matrix_row(w, NEST_VIEWS[i], position);
    return found;
}

__device__ constexpr int number_of_view(long long view) {
    int i = 0;
    while (i + 1 < BITS_VIEWS && NEST_VIEWS[i] != view) ++i;
    return i;
}

__device__ INLINE Words words_at(const u32* row, int k) {
    const uint4 found = *(const uint4*)(row + k);
    return {{found.x, found.y, found.z, found.w}};
}

// Words k to k + 3 of a relation's row of the last loop's element.
template <long long R>
__device__ INLINE Words related_words(int k, const Element& x) {
    constexpr const long long* relation = NEST_RELATIONS + R * RELATION_FIELDS;
    Words near = {{0, 0, 0, 0}};
    if constexpr (relation[RELATION_VIEW] >= 0) near = words_at(x.rows[number_of_view(relation[RELATION_VIEW])], k);
#pragma unroll
    for (int i = 0; i < 4; ++i) near.at[i] = related(relation, near.at[i], k + i, x.position, true);
    return near;
}

// Words k to k + 3 of a set with the last loop's element bound.
template <long long S>
__device__ INLINE Words set_words(const Worker& w, int k, const Element& x) {
    constexpr int made = made_last(S);
    if constexpr (made < 0) {
        return words_at(bits_of(w, S), k);
    } else {
        constexpr const long long* row = NEST_OPERATIONS + made * OPERATION_FIELDS;
        Words found = set_words<row[OPERATION_LEFT]>(w, k, x);
        const Words more = related_words<row[OPERATION_RELATION]>(k, x);
#pragma unroll
        for (int i = 0; i < 4; ++i) found.at[i] &= more.at[i];
        return found;
    }
}

// Words k to k + 3 of what leaf E may be bound to.
template <int E>
__device__ INLINE Words leaf_words(const Worker& w, int k, const Element& x) {
    constexpr const long long* row = leaf(E);
    Words found = set_words<row[LEAF_SET]>(w, k, x);
    if constexpr (row[LEAF_RELATION] >= 0) {
        const Words more = related_words<row[LEAF_RELATION]>(k, x);
#pragma unroll
        for (int i = 0; i < 4; ++i) found.at[i] &= more.at[i];
    }
    if constexpr (row[LEAF_DIFFERS] != 0) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int here = x.position - 32 * (k + i);
            found.at[i] &= ~(ones_from(here) & ~ones_from(here + 1));
        }
    }
    return found;
}

__device__ INLINE int ones_in(const Words& words) {
    return __popc(words.at[0]) + __popc(words.at[1]) + __popc(words.at[2]) + __popc(words.at[3]);
}

// What each leaf may be bound to: how many positions; for the first of a pair also how many of them the other may be, too.
struct Leaves {
    int held[BITS_LEAVES], both[BITS_LEAVES];
};

// Add what words k to k + 3 hold of the leaves from E on that move.
template <int E>
__device__ INLINE void add_words(const Worker& w, int k, const Element& x, Leaves& leaves) {
    if constexpr (E < BITS_LEAVES) {
        if constexpr (moves(E)) leaves.held[E] += ones_in(leaf_words<E>(w, k, x));
        if constexpr (leaf(E)[LEAF_PAIR] != 0 && (moves(E) || moves(E + 1))) {
            Words common = leaf_words<E>(w, k, x);
            const Words other = leaf_words<E + 1>(w, k, x);
#pragma unroll
            for (int i = 0; i < 4; ++i) common.at[i] &= other.at[i];
            leaves.both[E] += ones_in(common);
        }
        add_words<E + 1>(w, k, x, leaves);
    }
}

// The number of positions in a set, and in two sets, which every lane gets.
__device__ INLINE int ones_of(const Worker& w, i64 a, i64 b) {
    int n = 0;
    ROLLED for (int k = lane(); k < frame_of(w).words; k += 32) n += __popc(bits_of(w, a)[k] & bits_of(w, b)[k]);
    return warp_sum(n);
}

template <int E>
__device__ INLINE void count_resting(const Worker& w, Leaves& leaves) {
    if constexpr (E < BITS_LEAVES) {
        leaves.held[E] = leaves.both[E] = 0;
        if constexpr (!moves(E)) leaves.held[E] = ones_of(w, leaf(E)[LEAF_SET], leaf(E)[LEAF_SET]);
        if constexpr (leaf(E)[LEAF_PAIR] != 0 && !moves(E) && !moves(E + 1))
            leaves.both[E] = ones_of(w, leaf(E)[LEAF_SET], leaf(E + 1)[LEAF_SET]);
        count_resting<E + 1>(w, leaves);
    }
}

// The product of what the leaves from E on count with the last loop at a position; about the same.
template <int E>
__device__ INLINE void multiply(const Worker& w, const Leaves& leaves, int position, i64& total, double& about) {
    if constexpr (E < BITS_LEAVES) {
        constexpr const long long* row = leaf(E);
        i64 n = leaves.held[E] - (i64)row[LEAF_MINUS];
        if constexpr (row[LEAF_DIFFERS] != 0 && !moves(E)) n -= bits_of(w, row[LEAF_SET])[position >> 5] >> (position & 31) & 1;
        n = max(n, 0LL);
        double close = (double)n;
        if constexpr (row[LEAF_PAIR] != 0) {
            const i64 other = max(leaves.held[E + 1] - (i64)leaf(E + 1)[LEAF_MINUS], 0LL);
            n = n * other - leaves.both[E];
            close = (double)n;
        } else if constexpr (row[LEAF_SIZE] > 1) {
            n = ways(n, row[LEAF_SIZE], row[LEAF_FORMULA], close);
        }
        total *= n;
        if constexpr (!is_safe()) about *= close;
        multiply<E + (row[LEAF_PAIR] != 0 ? 2 : 1)>(w, leaves, position, total, about);
    }
}

// Count, each lane for some, the elements of the last loop at positions [start, end).
__device__ INLINE void count_last(const Worker& w, int start, int end, i64& total, double& about, i64& spent) {
    const int words = frame_of(w).words;
    unsigned short* elements = elements_of(w);
    Leaves resting;
    count_resting<0>(w, resting);
    const u32* held = bits_of(w, BITS_BASE_LAST);
    ROLLED for (int begin = start / 1024 * 32; begin < words && 32 * begin < end; begin += 32) {
        const int k = begin + lane();
        u32 mine = k < words ? held[k] & ones_from(start - 32 * k) & ~ones_from(end - 32 * k) : 0u;
        int before = __popc(mine);  // then: those up to mine
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const int more = __shfl_up_sync(ALL_LANES, before, step);
            if (lane() >= step) before += more;
        }
        const int n = __shfl_sync(ALL_LANES, before, 31);
        before -= __popc(mine);
        __syncwarp();
        ROLLED while (mine) {
            elements[before++] = (unsigned short)(32 * k + __ffs(mine) - 1);
            mine &= mine - 1;
        }
        __syncwarp();
        ROLLED for (int base = 0; base < n; base += 32) {
            const int position = elements[min(base + lane(), n - 1)];
            Leaves leaves = resting;
            int from = 0, to = words;
            if constexpr (all_ordered(ORDER_ABOVE)) from = __shfl_sync(ALL_LANES, position, 0) / 128 * 4;
            if constexpr (all_ordered(ORDER_BELOW)) to = min(words, __shfl_sync(ALL_LANES, position, 31) / 32 + 1);
            if constexpr (any_moves()) {
                const Element x = element_at(w, position);
                ROLLED for (int at = from; at < to; at += 4) add_words<0>(w, at, x, leaves);
                spent += 1 + (to - from) / 16;
            }
            if (base + lane() < n) {
                i64 product = 1;
                double close = 1.0;
                multiply<0>(w, leaves, position, product, close);
                total += product;
                if constexpr (!is_safe()) about += close;
            }
        }
    }
    ++spent;
}

// ---- the loop around it --------------------------------------------------------------------------------------------------

// Move before the positions of level BITS_FIRST.
__device__ INLINE void open_bits(const Worker& w) {
    Range part = {0, frame_of(w).size};
    if (BITS_FIRST == 1) part = unit_range(w, part.end);
    __syncwarp();
    if (lane() == 0) {
        w.at(AT_POSITION, BITS_FIRST) = part.start;
        w.at(AT_START, BITS_FIRST) = 0;
        w.at(AT_END, BITS_FIRST) = part.end;
        w.at(AT_MASK, BITS_FIRST) = 0;
    }
    __syncwarp();
}

// Which words of a set hold something.
__device__ INLINE unsigned long long filled_words(const Worker& w, i64 set) {
    const u32* row = bits_of(w, set);
    const int words = frame_of(w).words;
    const u32 low = __ballot_sync(ALL_LANES, lane() < words && row[lane()]);
    const u32 high = words <= 32 ? 0u : __ballot_sync(ALL_LANES, lane() + 32 < words && row[lane() + 32]);
    return low | (unsigned long long)high << 32;
}

// Count below some of the positions of level BITS_FIRST that are left; false: that may pass 2^63. `done`: none are left.
__device__ __noinline__ bool count_bits(const Worker& w, i64& total, i64& spent, bool& done) {
    const int end = (int)w.at(AT_END, BITS_FIRST);
    int position = (int)w.at(AT_POSITION, BITS_FIRST);
    const i64 until = spent + BITS_CHUNK;
    i64 own = 0;
    double about = 0.0;
    if constexpr (BITS_FIRST == BITS_LAST) {
        const int stop = min(end, position + 1024);
        if (position < end) count_last(w, position, stop, own, about, spent);
        position = stop;
    } else {
        unsigned long long filled = filled_words(w, BITS_BASE_FIRST);
        filled &= position >= 2048 ? 0ULL : ~0ULL << (position / 32);
        ROLLED while (position < end && spent < until) {
            if (!filled) {
                position = end;
                break;
            }
            const int word = __ffsll((long long)filled) - 1;
            u32 left = bits_of(w, BITS_BASE_FIRST)[word] & ones_from(position - 32 * word) & ~ones_from(end - 32 * word);
            ROLLED while (left && spent < until) {
                const int at = 32 * word + __ffs(left) - 1;
                left &= left - 1;
                position = at + 1;
                __syncwarp();
                if (lane() == 0) place_of(w, BITS_FIRST) = (u32)at << 1 | 1u;
                __syncwarp();
                if (narrow(w, BITS_FIRST, spent)) count_last(w, 0, 32 * BITS_WORDS, own, about, spent);
                ++spent;
            }
            if (left) break;
            filled &= filled - 1;
            position = min(end, max(position, 32 * (word + 1)));
        }
    }
    __syncwarp();
    if (lane() == 0) w.at(AT_POSITION, BITS_FIRST) = position;
    __syncwarp();
    done = position >= end;
    own = warp_sum(own);
    if constexpr (!is_safe()) {
        if (warp_sum(about) > LARGEST_COUNT) return false;
    }
    if (total > 0x7fffffffffffffffLL - own) return false;
    total += own;
    return true;
}

#endif
