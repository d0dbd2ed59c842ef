// Work units that are counted together, in passes: those of one batch whose roots' rows lie in the window. Most units have few
// vertices in a pass, and each would wait for its row, its list and their rows alone; here each lane has a root and a vertex
// of its list, of whatever unit, and what those two have in common is found for all lanes at once.
//
// Of nests whose tail is one tree: a root over the list of level 1, leaves below it over the row of level 0, as in diamonds.

#include "local.cuh"

#if defined SPECIAL && defined COLD && !defined SPECIAL_LOCAL

// Whether a level is a side of level 0's row in the one view, and nothing of it is left out.
__device__ constexpr bool is_whole_row(const long long* row) {
    return !row[LEVEL_IS_EDGE] && row[LEVEL_BASE] == KIND_ROW && row[LEVEL_BASE_A] == 0 && row[LEVEL_BASE_B] == 0 &&
           row[LEVEL_BITS] < 0 && row[LEVEL_DIFFERS] == row[LEVEL_DIFFERS_END] && row[LEVEL_CHECK] == row[LEVEL_CHECK_END] &&
           !(row[LEVEL_FLAGS] & FLAG_REPEATS);
}

// Whether the nest is one whose units are counted together.
__device__ INLINE bool counts_together(const Worker& w) {
    const i64 nodes = w.get(JOB_NODE_COUNT);
    if (!only_units(w) || !w.get(JOB_IN_PASSES) || !w.get(JOB_PACKS) || nodes < 2) return false;
    const i64 *root = w.node(nodes - 1), *list = w.level(root[NODE_LEVEL]), *first = w.level(0);
    bool right = root[NODE_ROLE] == ROLE_INNER && root[NODE_PARENT] < 0 && root[NODE_OPTIONAL] < 0 && root[NODE_SIZE] == 1;
    right = right && w.get(JOB_CUT_NODE) == nodes - 1 && is_whole_row(list) && first[LEVEL_SET] == first[LEVEL_SET_END];
    UNROLLED for (i64 r = list[LEVEL_BELOW]; r < list[LEVEL_BELOW_END]; ++r) right = right && w.ref(r) == 0;
    UNROLLED for (i64 r = list[LEVEL_ABOVE]; r < list[LEVEL_ABOVE_END]; ++r) right = right && w.ref(r) == 0;
    const i64 *leaf = w.node(0), *own = w.level(leaf[NODE_LEVEL]);
    UNROLLED for (i64 c = 0; c + 1 < nodes; ++c) {
        const i64 *node = w.node(c), *row = w.level(node[NODE_LEVEL]);
        right = right && node[NODE_ROLE] == ROLE_MARK && node[NODE_PARENT] == nodes - 1 && node[NODE_OPTIONAL] < 0;
        right = right && node[NODE_ORDER] == ORDER_NONE && node[NODE_VIEW] == leaf[NODE_VIEW] && w.table(JOB_SIMPLE)[node[NODE_VIEW]];
        right = right && is_whole_row(row) && row[LEVEL_BELOW] == row[LEVEL_BELOW_END] && row[LEVEL_ABOVE] == row[LEVEL_ABOVE_END];
        right = right && row[LEVEL_LO] == own[LEVEL_LO] && row[LEVEL_HI] == own[LEVEL_HI];
    }
    return right;
}

// Where each lane's numbers begin if those of all lanes are laid end to end; `all`: how many there are.
__device__ INLINE int begin_of(int size, int& all) {
    int after = size;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const int others = __shfl_up_sync(ALL_LANES, after, step);
        if (lane() >= step) after += others;
    }
    all = __shfl_sync(ALL_LANES, after, 31);
    return after - size;
}

// Count the first of those of a batch's units that are left, as many as the filter has room for; a bit for each of them, none
// where the first one's row is not in the window. `fits`: false where a count passes 2^63.
__device__ __noinline__ u32 count_together(const Worker& w, u32 left, i64& total, bool& fits, i64& spent) {
    const i64 nodes = w.get(JOB_NODE_COUNT), *view = w.view(0);
    const i64 *list = w.level(w.node(nodes - 1)[NODE_LEVEL]), *theirs = w.level(w.node(0)[NODE_LEVEL]);
    const i64* leaf_view = w.view(w.node(0)[NODE_VIEW]);
    const u32* vids = window_vids(w);
    const u32 residues = (u32)w.get(JOB_FILTER_BITS);
    const int room = (int)min(residues / 8, 1u << 20);
    total = 0;
    fits = true;
    const bool there = left >> lane() & 1;
    const int at = there ? (int)window(w, WINDOW_COPY)[lane()] : 0;
    const i64 length = there ? window(w, WINDOW_END)[lane()] - window(w, WINDOW_START)[lane()] : 0;
    const int size = at < 0 ? room + 1 : (int)min(length, (i64)room + 1);
    int all, pairs;
    const int begin = begin_of(size, all);
    const u32 fitting = __ballot_sync(ALL_LANES, there && begin + size <= room);
    if (!fitting) return 0;
    const bool mine = fitting >> lane() & 1;
    const int elements = __shfl_sync(ALL_LANES, begin + size, 31 - __clz(fitting));
    // the part of the list that the unit is about, and of it what lies in the pass's range
    Span part = {0, 0};
    if (mine) {
        const i64 unit = shared_unit(w, number_in(w, w.state[WARP_BATCH], lane()));
        const u32 root = ((const u32*)w.get(JOB_UNIT_ROOTS))[unit];
        const i64 x = ((const u32*)w.get(JOB_ROOTS))[root];
        const i64 end = list[LEVEL_BELOW] < list[LEVEL_BELOW_END] ? min(list[LEVEL_HI], x) : list[LEVEL_HI];
        const i64 start = list[LEVEL_ABOVE] < list[LEVEL_ABOVE_END] ? max(list[LEVEL_LO], x + 1) : list[LEVEL_LO];
        if (admits(w, 0, x)) {
            part = {at, at + size};
            const i64 bounds[2][2] = {{start, end}, {w.get(JOB_PASS_START), w.get(JOB_PASS_END)}};
            ROLLED for (int k = 0; k < 2; ++k) {
                part.start = lower_bound(vids, part.start, part.end, bounds[k][0]);
                part.end = lower_bound(vids, part.start, part.end, bounds[k][1]);
                if (k) continue;
                const Range own = part_of((const i64*)w.get(JOB_FIRST_UNIT) + root, unit, part.size());
                part = {part.start + own.start, part.start + own.end};
            }
        }
    }
    const int pairs_begin = begin_of((int)part.size(), pairs);
    const Pack pack = {w.packed};
    u32* filter = w.filters + w.table(JOB_FILTER_AT)[0];
    const auto bit_of = [&](u32 x, int slot) { return (x + (u32)slot * 2654435761u) & (residues - 1); };
    bool filled = false;
    const auto near = neighbours(leaf_view);
    i64 sum = 0;
    double about = 0.0;
    ROLLED for (int base = 0; base < pairs; base += 32, ++spent) {
        const bool active = base + lane() < pairs;
        const int slot = range_of(pairs_begin, base + lane());
        const int from = __shfl_sync(ALL_LANES, (int)part.start - pairs_begin, slot) + base + lane();
        const int row_at = __shfl_sync(ALL_LANES, at, slot), row_size = __shfl_sync(ALL_LANES, size, slot);
        const Span row = active ? row_slice(leaf_view, vids[from], theirs[LEVEL_LO], theirs[LEVEL_HI]) : Span{0, 0};
        const u32 fewer = warp_sum(row.size() ? (u32)row_size : 0u), more = warp_sum((u32)min((i64)row.size(), 1LL << 24));
        i64 n = 0;
        if (SEARCH * fewer < more) {  // look for the roots' in the rows
            u32 found = 0;
            each_position(
                row.size() ? Span{row_at, row_at + row_size} : Span{0, 0},
                [&](int owner) {
                    return Span{__shfl_sync(ALL_LANES, row.start, owner), __shfl_sync(ALL_LANES, row.end, owner)};
                },
                [&](Span in, at_t, at_t place) {
                    const i64 y = vids[place];
                    if (y < theirs[LEVEL_LO] || y >= theirs[LEVEL_HI]) return NONE;
                    const u32* other = row_list(leaf_view, in);
                    const at_t k = lower_bound(other, in.start, in.end, y);
                    return k < in.end && (i64)other[k] == y ? 1u : NONE;
                },
                [&](Span, u32 value) {
                    found += value == 1u;
                },
                [&](u32 ranges, int lanes) {
                    n += found_in(found, ranges, lanes);
                    found = 0;
                },
                spent);
        } else if (more) {
            if (!filled) {  // a bit for each element of the roots' rows, at a place that depends on the root as well
                ROLLED for (int k = 0; k < elements; k += 32) {
                    const int owner = range_of(begin, k + lane());
                    const int place = __shfl_sync(ALL_LANES, at - begin, owner) + k + lane();
                    if (k + lane() >= elements) continue;
                    const u32 bit = bit_of(vids[place], owner);
                    atomicOr(filter + (bit >> 5), 1u << (bit & 31));
                }
                filled = true;
                spent += elements / 32;
            }
            pack.found()[lane()] = 0;
            pack.words()[lane()] = (u8)slot;
            __syncwarp();
            each_hit(
                pack, row, [&](at_t place) { return near[place]; },
                [&](u32 y, int owner) {
                    const u32 bit = bit_of(y, pack.words()[owner]);
                    return (bool)(filter[bit >> 5] >> (bit & 31) & 1);
                },
                [&](int owner, u32 y, bool hit) {
                    const int first = __shfl_sync(ALL_LANES, row_at, owner), end = first + __shfl_sync(ALL_LANES, row_size, owner);
                    if (!hit) return;
                    const at_t k = lower_bound(vids, first, end, y);
                    if (k < end && vids[k] == y) atomicAdd(pack.found() + owner, 1u);
                },
                spent);
            __syncwarp();
            n = pack.found()[lane()];
            __syncwarp();
        }
        i64 product = 1;
        double all_about = 1.0;
        UNROLLED for (i64 c = 0; c + 1 < nodes; ++c) {
            double some = (double)n;
            product *= ways(n, w.node(c)[NODE_SIZE], w.node(c)[NODE_FORMULA], some);
            all_about *= some;
            if (all_about > LARGEST_COUNT) all_about = INFINITE, product = 0;
        }
        if (active) sum += product, about += all_about;
    }
    if (filled) {
        ROLLED for (int k = lane(); k < residues / 32; k += 32) filter[k] = 0;
    }
    __syncwarp();
    fits = warp_sum(about) <= LARGEST_COUNT;
    total = warp_sum(sum);
    return fitting;
}

#endif
