// The generic nest interpreter: one warp walks a nest given as tables (gdb/executor/nest/tables.py), depth first.
//
// At each level the warp tests 32 elements of the level's list at a time and keeps the survivors as a mask; it then goes
// deeper with one survivor after another, or, at the last level, counts or writes them all at once. Its whole state lies in
// an array, so it may stop at any step and go on in another launch.

#include "bits.cuh"
#include "local.cuh"
#include "pairs.cuh"

// ---- work ----------------------------------------------------------------------------------------------------------------
//
// Units come from a counter. A warp that finds none sets its bit among those that wait; one at work that sees such a bit takes
// it away, splits off half of what is left at its outermost level and puts it, as what is bound above and a range of the
// list, into the other's slot (as STMatch and T-DFS share work between warps). What depends on the bound levels is computed
// again. The bits lie in many words, which are looked at from different ends: a queue would serve one warp at a time.

__device__ INLINE unsigned long long* counter(const Worker& w, int field) {
    return (unsigned long long*)w.get(JOB_HEADER) + field;
}

__device__ INLINE unsigned long long peek(const unsigned long long* at) { return *(const volatile unsigned long long*)at; }

__device__ INLINE i64* task(const Worker& w, i64 warp) {
    return (i64*)w.get(JOB_TASKS) + warp * (TASK_FIELDS + w.levels);
}

// Take a warp off those that wait; -1 where none is seen, or another was quicker.
__device__ INLINE i64 claim(const Worker& w) {
    u32* idle = (u32*)w.get(JOB_IDLE);
    const u32 words = (u32)(w.get(JOB_WARPS) + 31) / 32, own = (u32)own_number();
    ROLLED for (u32 k = lane(); k < words + lane(); k += 32) {
        const u32 at = (own + k) % words, seen = k < words ? *(volatile u32*)(idle + at) : 0;
        const u32 found = __ballot_sync(ALL_LANES, seen != 0);
        if (!found) continue;
        const int chosen = __ffs(found) - 1;
        int taken = -1;
        if (lane() == chosen) {
            const int bit = (__ffs(__funnelshift_r(seen, seen, own)) - 1 + own) & 31;
            if (atomicAnd(idle + at, ~(1u << bit)) >> bit & 1) taken = (int)(32 * at + bit);
        }
        return __shfl_sync(ALL_LANES, taken, chosen);
    }
    return -1;
}

// The part of an open level's list that can be given away: the later half of what is left, and the mask that stays.
__device__ INLINE Span to_spare(const Worker& w, i64 d, i64 least, u32& mask) {
    mask = (u32)w.at(AT_MASK, d);
    const i64 position = w.at(AT_POSITION, d), end = w.at(AT_END, d), left = end - position;
    if (left > (mask ? 0 : 1)) {
        const i64 from = position + (left + (mask ? 0 : 1)) / 2;
        return left >= least ? Span{from, end} : Span{0, 0};
    }
    if (__popc(mask) < 2 || least > 1) return {0, 0};
    u32 upper = mask;  // take away the lower half of its bits
    ROLLED for (int k = __popc(mask) / 2; k; --k) upper &= upper - 1;
    mask &= ~upper;
    return {position - 32 + __ffs(upper) - 1, min(position, end)};
}

// Give work to a warp that waits, if there is one and something to spare above level d.
__device__ __noinline__ void donate(const Worker& w, i64 open, bool has_tail) {
    int waiting = 0;
    if (lane() == 0) waiting = peek(counter(w, HEADER_WAITING)) != 0;
    if (!__shfl_sync(ALL_LANES, waiting, 0)) return;
    u32 mask = 0;
    Span spare = {0, 0};
    i64 d = 1;
    ROLLED for (; d <= open; ++d) {
        const bool deeper = d + 1 < w.get(JOB_LOOPS) && !(d == pair_level(w) && w.state[WARP_PAIRED]);
        spare = to_spare(w, d, deeper || has_tail ? 1 : 256, mask);
        if (spare.start < spare.end) break;
    }
    if (d > open) return;
    const i64 taker = claim(w);
    if (taker < 0) return;
    i64* slot = task(w, taker);
    if (lane() == 0) {
        atomicAdd(counter(w, HEADER_WAITING), ~0ULL);  // one less, before it can have its work
        slot[TASK_UNIT] = w.state[WARP_UNIT];
        slot[TASK_DEPTH] = d;
        slot[TASK_BITS] = w.state[WARP_BITS];
        slot[TASK_START] = spare.start;
        slot[TASK_END] = spare.end;
    }
    ROLLED for (i64 k = lane(); k < d; k += 32) slot[TASK_FIELDS + k] = w.v(k);
    __syncwarp();
    if (lane() == 0) {
        w.at(AT_END, d) = min((i64)spare.start, w.at(AT_END, d));
        w.at(AT_MASK, d) = mask;
        __threadfence();
        atomicExch((unsigned long long*)slot + TASK_FULL, 1ULL);
    }
    __syncwarp();
}

// Draw a number below STRIDE, -1 when none is left. A warp begins with the number that it has itself, and draws further ones
// from the counter.
__device__ INLINE i64 draw(const Worker& w) {
    i64 number = w.state[WARP_NEXT] - 1;
    if (number >= 0) return number;
    if (lane() == 0) {
        number = w.get(JOB_WARPS) + (i64)peek(counter(w, HEADER_NEXT));  // most draws come when all are gone
        if (number < w.get(JOB_STRIDE)) number = w.get(JOB_WARPS) + (i64)atomicAdd(counter(w, HEADER_NEXT), 1ULL);
    }
    number = __shfl_sync(ALL_LANES, number, 0);
    return number < w.get(JOB_STRIDE) ? number : -1;
}

#ifdef COLD
// Have units of a batch that are to be done in this pass, in LEFT, the row of the first's root in the window where it has room
// for it; false where none is left.
__device__ INLINE bool draw_batch(const Worker& w) {
    if (w.state[WARP_LEFT]) fill_again(w, w.state[WARP_BATCH], (u32)w.state[WARP_LEFT]);
    ROLLED while (!w.state[WARP_LEFT]) {
        const i64 batch = draw(w);
        if (batch < 0) return false;
        const u32 left = open_batch(w, batch);
        __syncwarp();
        if (lane() == 0) {
            w.state[WARP_NEXT] = 0;
            w.state[WARP_BATCH] = batch;
            w.state[WARP_LEFT] = left;
        }
        __syncwarp();
    }
    return true;
}
#endif

// The next of this device's units, -1 when none is left. Where there are many units, each number gives several, a STRIDE apart:
// neighbouring ones are alike, and a warp is to get heavy and light ones. In a pass it gives a batch.
__device__ INLINE i64 next_number(const Worker& w) {
#ifdef COLD
    if (w.get(JOB_IN_PASSES)) {
        if (!draw_batch(w)) return -1;
        const u32 left = (u32)w.state[WARP_LEFT];
        const i64 slot = __ffs(left) - 1, number = number_in(w, w.state[WARP_BATCH], slot);
        const u32 merged = same_root(w, left, slot);
        __syncwarp();
        if (lane() == 0) {
            w.state[WARP_LEFT] = left & ~merged;
            w.state[WARP_SLOT] = window_slot(slot);
            w.state[WARP_MERGED] = 31 - __clz(merged) - slot;
        }
        return number;
    }
#endif
    const i64 number = draw(w);
    if (number < 0) return -1;
    __syncwarp();
    if (lane() == 0) {
        const i64 next = number + w.get(JOB_STRIDE);
        w.state[WARP_NEXT] = next < w.get(JOB_UNITS) ? next + 1 : 0;
    }
    return number;
}

// Take the next work unit and stop before its root; false when none is left.
__device__ INLINE bool take_unit(const Worker& w) {
    i64 unit = next_number(w);
    if (unit < 0) return false;
    __syncwarp();
    if (lane() == 0) {
        unit = shared_unit(w, unit);
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

// Move before the elements of level d > 0. A unit is one part of a root's level 1, so that the many neighbours of a hub go
// to many warps; the start stays that of the whole list, where a repeated neighbour begins.
__device__ INLINE void open_level(const Worker& w, i64 d) {
    const Source source = enter(w, d);
    i64 position = source.span.start, end = source.span.end;
    if (d == 1) {
        const Span part = unit_part(w, source.address, source.span);
        position = part.start;
        end = part.end;
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
    if (d == pair_level(w)) open_pairs(w, d, source.span.size());
}

// Do what is to be done at level d, which a special kernel knows as a constant.
template <class Work>
__device__ INLINE void at_level(const Worker& w, i64 d, Work work) {
#ifdef SPECIAL
    switch (d) { SPECIAL_EACH_LEVEL }  // case 0: work(0); break; ...
#else
    work(d);
#endif
}

// Whether level d is run over positions of a neighbourhood.
__device__ INLINE bool in_bits(const Worker& w, i64 d) {
#ifdef SPECIAL_BITS
    return d == BITS_FIRST && w.state[WARP_BITS] > 0;
#else
    return false;
#endif
}

#ifndef SPECIAL_BITS
__device__ INLINE void open_bits(const Worker&) {}
#endif

// A launch begins with level d open: make the sets of bits again that it depends on.
__device__ INLINE void resume_bits(const Worker& w, i64 d, i64& spent) {
#ifdef SPECIAL_BITS
    if (w.state[WARP_BITS] <= 0 || d <= BITS_FRAME) return;
    open_frame(w);
    ROLLED for (i64 k = BITS_FRAME; k < min(d, (i64)BITS_FIRST); ++k) compute_bits(w, k, spent);
#endif
}

// Move to the beginning of a task.
__device__ __noinline__ i64 open_task(const Worker& w, i64* slot, i64& spent) {
    const i64 depth = slot[TASK_DEPTH], start = slot[TASK_START], end = slot[TASK_END];
    __syncwarp();
    ROLLED for (i64 k = lane(); k < depth; k += 32) {
        w.at(AT_V, k) = slot[TASK_FIELDS + k];
        w.at(AT_POSITION, k) = w.at(AT_END, k) = w.at(AT_MASK, k) = 0;  // nothing is left above
    }
    if (lane() == 0) {
        w.state[WARP_UNIT] = slot[TASK_UNIT];
        w.state[WARP_MERGED] = w.state[WARP_SLOT] = 0;  // its root's row is in the giver's window
    }
#ifdef SPECIAL_BITS
    if (lane() == 0) w.state[WARP_BITS] = depth > BITS_FRAME && !slot[TASK_BITS] ? -1 : 0;
#endif
    __syncwarp();
    ROLLED for (i64 d = 0; d < depth; ++d) at_level(w, d, [&](i64 k) INLINED { compute_sets(w, k, spent); });
    at_level(w, depth, [&](i64 k) INLINED {
        if (in_bits(w, k)) open_bits(w);
        else open_level(w, k);
    });
    __syncwarp();
    if (lane() == 0) {
        w.at(AT_POSITION, depth) = start;
        w.at(AT_END, depth) = end;
        __threadfence();
        atomicExch((unsigned long long*)slot + TASK_FULL, 0ULL);
    }
    __syncwarp();
    return depth;
}

// Mask of the elements of level d that are still to be bound, out of the 32 before AT_POSITION; looks at the next 32 when
// there are none. `done`: the list has come to its end.
__device__ INLINE u32 survivors(const Worker& w, i64 d, bool& done) {
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
__device__ INLINE void bind_next(const Worker& w, i64 d, u32 mask) {
    const i64 x = element(w.level(d), w.at(AT_ADDRESS, d), w.at(AT_POSITION, d) - 32 + __ffs(mask) - 1);
    __syncwarp();
    if (lane() == 0) {
        w.at(AT_V, d) = x;
        w.at(AT_MASK, d) = mask & (mask - 1);
    }
    __syncwarp();
}

// Write what is wanted of a row, of whose last levels a lane knows what they are bound to. Lanes write neighbouring rows, so
// each column is written in whole lines.
template <class Value>
__device__ INLINE void write_row(const Worker& w, i64 r, Value value_of) {
    UNROLLED for (i64 k = 0; k < w.get(JOB_LOOPS); ++k) {
        const i64* row = w.level(k);
        if (row[LEVEL_COLUMN] < 0) continue;
        const i64 value = value_of(k), at = row[LEVEL_COLUMN] * w.get(JOB_CAPACITY) + r;
        if (row[LEVEL_IS_EDGE])
            ((i64*)w.get(JOB_OUT_EIDS))[at] = value;
        else
            ((u32*)w.get(JOB_OUT_VIDS))[at] = (u32)value;
    }
}

// Whether the vertex that level `once` is bound to was found before. One lane looks, for others may mark it meanwhile, and all
// lanes must see the same.
__device__ INLINE bool was_seen(const Worker& w, i64 once) {
    int seen = 0;
    if (lane() == 0) seen = ((const u8*)w.get(JOB_SEEN))[w.v(once)];
    return __shfl_sync(ALL_LANES, seen, 0) != 0;
}

// Mark the distinct values that are wanted instead of rows: all survivors where the last level d has them, else the one
// vertex that level `once` is bound to.
__device__ INLINE void mark_seen(const Worker& w, i64 d, i64 once, u32 mask) {
    u8* seen = (u8*)w.get(JOB_SEEN);
    if (once < d) {
        if (lane() == 0) seen[w.v(once)] = 1;
    } else if (mask >> lane() & 1) {
        seen[element(w.level(d), w.at(AT_ADDRESS, d), w.at(AT_POSITION, d) - 32 + lane())] = 1;
    }
    __syncwarp();
    if (lane() == 0) w.at(AT_MASK, d) = 0;
    __syncwarp();
}

// Write a row for each survivor of level d, as many as there is room for; whether all were written. The counter of rows may
// pass the capacity: every row below it is written, by the warp that drew its number.
template <class Write>
__device__ INLINE bool emit(const Worker& w, i64 d, u32 mask, Write write) {
    i64 first = 0;
    if (lane() == 0)
        first = (i64)atomicAdd((unsigned long long*)w.get(JOB_HEADER) + HEADER_ROWS, (unsigned long long)__popc(mask));
    first = __shfl_sync(ALL_LANES, first, 0);
    const bool mine = mask >> lane() & 1;
    const i64 r = first + __popc(mask & lanes_before());
    const bool fits = r < w.get(JOB_CAPACITY);
    if (mine && fits) write(w.at(AT_POSITION, d) - 32 + lane(), r);
    const u32 left = __ballot_sync(ALL_LANES, mine && !fits);
    __syncwarp();
    if (lane() == 0) w.at(AT_MASK, d) = left;
    __syncwarp();
    return left == 0;
}

// Of the last level d.
__device__ INLINE bool emit_rows(const Worker& w, i64 d, u32 mask) {
    return emit(w, d, mask, [&](i64 at, i64 r) {
        const i64 x = element(w.level(d), w.at(AT_ADDRESS, d), at);
        write_row(w, r, [&](i64 k) { return w.v(k, d, x); });
    });
}

// Of the pairs at level d.
PART bool emit_pairs(const Worker& w, i64 d, u32 mask) {
    return emit(w, d, mask, [&](i64 at, i64 r) {
        const Pair pair = pair_at(w, d, at);
        const i64 x = first_of(w, d, pair), y = second_of(w, d, pair);
        write_row(w, r, [&](i64 k) { return k > d ? y : w.v(k, d, x); });
    });
}

__device__ INLINE unsigned long long nanoseconds() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

// When a launch ends: after so many steps of a warp (tests), or at a time (which every warp looks at now and then).
struct Limits {
    i64 steps;
    unsigned long long until;
    i64 looked;

    // `often`: the time is looked at after so many steps
    __device__ bool over(i64 spent, i64 often = 256) {
        if (spent > steps) return true;
        if (spent - looked < often) return false;
        looked = spent;
        return __any_sync(ALL_LANES, nanoseconds() > until);
    }
};

// The sign for this warp that nothing is left to do: in one of several places, as thousands of warps that read a single one
// would wait for each other.
__device__ INLINE volatile unsigned long long* end_sign(const Worker& w, i64 k) {
    return counter(w, HEADER_END + k % SUMS * SUMS_APART);
}

// Count this warp among those that wait. One that gives work away takes the other from their number first and is at work
// itself, so that while there is work the number is less; the warp that makes it full signals all.
__device__ INLINE void begin_to_wait(const Worker& w, i64 own) {
    __syncwarp();
    int last = 0;
    if (lane() == 0) {
        w.state[WARP_WAITING] = 1;
        last = atomicAdd(counter(w, HEADER_WAITING), 1ULL) + 1 == (unsigned long long)w.get(JOB_WARPS);
        atomicOr((u32*)w.get(JOB_IDLE) + own / 32, 1u << (own & 31));
    }
    if (__shfl_sync(ALL_LANES, last, 0) && lane() < SUMS) *end_sign(w, lane()) = 1;
    __syncwarp();
}

// Find something to do; returns the level to go on at, -1 where everything is done, -2 where the launch is over.
__device__ INLINE i64 find_work(const Worker& w, Limits& limits, bool& entering, i64& spent) {
    entering = true;
    const i64 own = own_number();
    if (!w.state[WARP_WAITING]) {
        if (take_unit(w)) return 0;
        begin_to_wait(w, own);
    }
    i64* slot = task(w, own);
    for (;;) {
        // each of three lanes looks at one thing; a run for rows is over for now where there is no room for more
        int seen = 0;
        if (lane() == 0) seen = peek((unsigned long long*)slot + TASK_FULL) != 0;
        if (lane() == 1) seen = *end_sign(w, blockIdx.x) != 0;
        if (lane() == 2 && !w.get(JOB_COUNTING)) seen = (i64)peek(counter(w, HEADER_ROWS)) >= w.get(JOB_CAPACITY);
        const u32 found = __ballot_sync(ALL_LANES, seen);
        if (found & 1) break;
        if (found) return found & 2 ? -1 : -2;
        spent += 64;
        if (limits.over(spent)) return -2;
        __nanosleep(1000);
    }
    __threadfence();  // what the giver wrote before
    __syncwarp();
    if (lane() == 0) w.state[WARP_WAITING] = 0;
    __syncwarp();
    entering = false;
    return open_task(w, slot, spent);
}

// Add what was counted to the number of the vertex that the first loop is bound to; false: that passes 2^63.
__device__ INLINE bool add_tally(const Worker& w, i64& total) {
    i64 sum = 0;
    if (lane() == 0) {
        unsigned long long* tallies = (unsigned long long*)w.get(JOB_TALLIES);
        sum = (i64)atomicAdd(tallies + w.v(0), (unsigned long long)total) + total;
    }
    total = 0;
    return __shfl_sync(ALL_LANES, sum, 0) >= 0;
}

// Whether loops have more than one thing in them, whose counts are multiplied. What such a loop counted until the vertex that
// it is bound to now, and the product of what was counted in it for that vertex, lie at the end of the warp's state.
__device__ INLINE bool branches(const Worker& w) { return w.get(JOB_JOINS_AT) > 0; }
__device__ INLINE i64& sum_of(const Worker& w, i64 d) { return w.state[w.get(JOB_JOINS_AT) + d]; }
__device__ INLINE i64& product_of(const Worker& w, i64 d) { return w.state[w.get(JOB_JOINS_AT) + w.levels + d]; }

// A product that does not fit; a later factor may be zero.
constexpr i64 TOO_MANY = -1;

// The product of two numbers of embeddings.
__device__ INLINE i64 times(i64 a, i64 b) {
    if (a == 0 || b == 0) return 0;
    return a == TOO_MANY || (double)a * (double)b > LARGEST_COUNT ? TOO_MANY : a * b;
}

// Add to a sum; false: it passes 2^63.
__device__ INLINE bool add(i64& total, i64 n) {
    if (total > 0x7fffffffffffffffLL - n) return false;
    total += n;
    return true;
}

// Where a count goes on in a nest that branches: the level, whether that begins, how many loops have been multiplied in so far.
struct Place {
    i64 d, joined;
    bool entering;
};

// Level d has come to its end, under `place.joined` loops that multiply: go on with the loop beside it, or with that around it.
// False: a count passes 2^63.
PART bool leave(const Worker& w, i64 d, Place& place, i64& total) {
    const i64 around = w.level(d)[LEVEL_AROUND], beside = w.level(d)[LEVEL_BESIDE];
    place.d = around;
    if (around < 0 || !w.level(around)[LEVEL_JOINS]) return true;
    const i64 product = times(product_of(w, around), max(total, w.level(d)[LEVEL_LEAST]));
    if (product != 0 && beside >= 0) {
        __syncwarp();
        if (lane() == 0) product_of(w, around) = product;
        __syncwarp();
        total = 0;
        place.d = beside;
        place.entering = true;
        return true;
    }
    total = sum_of(w, around);
    --place.joined;
    return product != TOO_MANY && add(total, product);
}

// The vertex of level d is bound: count what is right in it, and go on with the first loop in it. False: a count passes 2^63.
PART bool descend(const Worker& w, i64 d, Place& place, i64& total, i64& spent) {
    const i64* row = w.level(d);
    i64 n = 1;
    const bool fits = row[LEVEL_NODE] == row[LEVEL_NODE_END] || count_tail(w, row[LEVEL_NODE], row[LEVEL_NODE_END], n, spent);
    if (row[LEVEL_INNER] < 0) return fits && add(total, n);
    if (fits && n == 0) return true;
    if (row[LEVEL_JOINS]) {
        __syncwarp();
        if (lane() == 0) {
            sum_of(w, d) = total;
            product_of(w, d) = fits ? n : TOO_MANY;
        }
        __syncwarp();
        total = 0;
        ++place.joined;
    }
    place.d = row[LEVEL_INNER];
    place.entering = true;
    return true;
}

// Whether every element that level d binds counts one.
__device__ INLINE bool counts_one(const Worker& w, i64 d) {
    const i64* row = w.level(d);
    return row[LEVEL_INNER] < 0 && row[LEVEL_NODE] == row[LEVEL_NODE_END];
}

#ifdef SPECIAL
// Whether there is but one loop, and all that is in it is counted in one step: nothing of it is ever given away.
__device__ INLINE bool only_units(const Worker& w) {
    return w.get(JOB_LOOPS) == 1 && w.get(JOB_COUNTING) && w.get(JOB_NODE_COUNT) > 0 && !branches(w);
}

// Whether a unit is counted in one step, unless its list is too long.
__device__ INLINE bool mostly_units(const Worker& w) {
#ifdef SPECIAL_LOCAL
    return LOCAL_FIRST == 1;
#else
    return only_units(w);
#endif
}

// Count one work unit after another, or several at once, without the state of a nest, from the one on that is open at level d,
// if there is one. `d`: where the nest is to go on with the unit that was taken last, -1 where that is done. Returns the status
// so far.
__device__ INLINE int count_units(const Worker& w, const Room& room, Limits& limits, i64& d, i64& total, i64& spent) {
    bool pending = d > 0 || (d == 0 && (w.at(AT_MASK, 0) || w.at(AT_POSITION, 0) < w.at(AT_END, 0)));
    d = -1;
    for (;;) {
        int taken = 0;  // units in a local graph
#ifdef SPECIAL_LOCAL
        int size = 0;  // vertices in it
        if (!pending && LOCAL_SEVERAL && !w.get(JOB_TALLIES)) {
#ifdef LOCAL_IN_PASSES
            if (!draw_batch(w)) return STATUS_DONE;
            u32 fitting;
            size = fill_several(w, room, 0, fitting);
            __syncwarp();
            if (lane() == 0) w.state[WARP_LEFT] &= ~(i64)fitting;
#else
            const i64 number = draw(w);
            if (number < 0) return STATUS_DONE;
            u32 fitting;
            size = fill_several(w, room, number, fitting);
            const i64 next = number + __popc(fitting) * w.get(JOB_STRIDE);
            __syncwarp();
            if (lane() == 0) w.state[WARP_NEXT] = next < w.get(JOB_UNITS) ? next + 1 : 0;
#endif
            __syncwarp();
            taken = __popc(fitting);
            spent += taken;
        }
#endif
        i64 n = 0;
        if (!taken) {
            if (!pending && !take_unit(w)) return STATUS_DONE;
            pending = false;
            ++spent;
            const i64 x = ((const u32*)w.get(JOB_ROOTS))[w.at(AT_START, 0)];
            __syncwarp();
            if (lane() == 0) {
                w.at(AT_V, 0) = x;
                w.at(AT_POSITION, 0) = w.at(AT_END, 0);
                w.at(AT_MASK, 0) = 0;
            }
            __syncwarp();
            if (admits(w, 0, x) && compute_sets(w, 0, spent)) {
#ifdef LOCAL_SUPPORTS
                const Source source = enter(w, 1);
                note_long(w, room, source, unit_part(w, source.address, source.span), spent);
#else
                bool local = false;
#ifdef SPECIAL_LOCAL
                const Source source = enter(w, 1);
                local = source.span.size() <= LOCAL_MOST;
                if (local) {
                    size = fill_local(w, room, source, unit_part(w, source.address, source.span));
                } else if (!only_units(w)) {
                    d = 1;
                    return STATUS_DONE;
                }
#endif
                if (!local && !count_tail(w, 0, w.get(JOB_NODE_COUNT), n, spent)) return STATUS_OVERFLOW;
#endif
            }
        }
#ifdef SPECIAL_LOCAL
        if (size) n = count_graph(w, room, size, spent);
#endif
        if (total > 0x7fffffffffffffffLL - n) return STATUS_OVERFLOW;
        total += n;
        if (w.get(JOB_TALLIES) && total && !add_tally(w, total)) return STATUS_OVERFLOW;
        if (limits.over(spent, 32)) return STATUS_YIELDED;  // a unit may be as long as a launch is to be
    }
}
#endif

// Walk on from the warp's state until there is no unit left or something stops it; returns the status.
__device__ INLINE int walk(const Worker& w, const Room& room, Limits limits) {
    const i64 loops = w.get(JOB_LOOPS), once = w.get(JOB_ONCE);
    const bool counting = w.get(JOB_COUNTING), has_tail = counting && w.get(JOB_NODE_COUNT) > 0;
    i64 d = w.state[WARP_DEPTH], total = w.state[WARP_TOTAL], spent = 0, shared = 0, joined = w.state[WARP_JOINED];
    bool entering = w.state[WARP_ENTERING];
    int status = STATUS_DONE;
    resume_bits(w, d, spent);
#ifdef SPECIAL
    if (only_units(w)) status = count_units(w, room, limits, d, total, spent);
    else
#endif
    for (;;) {
        if (limits.over(spent)) {
            status = STATUS_YIELDED;
            break;
        }
        if (d < 0) {
            if (w.get(JOB_TALLIES) && total && !add_tally(w, total)) {
                status = STATUS_OVERFLOW;
                break;
            }
#ifdef SPECIAL
            if (mostly_units(w) && !w.state[WARP_WAITING]) {
                status = count_units(w, room, limits, d, total, spent);
                if (status != STATUS_DONE) break;
                entering = true;
                if (d >= 0) continue;
            }
#endif
            d = find_work(w, limits, entering, spent);
            if (d < 0) {
                if (d < -1) status = STATUS_YIELDED;
                d = -1;
                break;
            }
        } else if (spent - shared >= 64) {
            shared = spent;
            donate(w, min(entering ? d - 1 : d, w.get(JOB_OUTER)), has_tail);
        }
        ++spent;
        if (has_tail && entering && d == loops) {
            entering = false;
            i64 n;
            if (!count_tail(w, 0, w.get(JOB_NODE_COUNT), n, spent) || total > 0x7fffffffffffffffLL - n) {
                status = STATUS_OVERFLOW;
                break;
            }
            total += n;
            --d;
            continue;
        }
#ifdef SPECIAL_LOCAL
        if (LOCAL_FIRST > 1 && entering && d == LOCAL_FIRST) {  // else `count_units` does it
            const Source source = enter(w, LOCAL_FIRST);
            if (source.span.size() <= LOCAL_MOST) {
                entering = false;
                const i64 n = count_graph(w, room, fill_local(w, room, source, source.span), spent);
                if (total > 0x7fffffffffffffffLL - n) {
                    status = STATUS_OVERFLOW;
                    break;
                }
                total += n;
                --d;
                continue;
            }
        }
#endif
#ifdef SPECIAL_BITS
        if (in_bits(w, d)) {
            if (entering) open_bits(w);
            entering = false;
            bool done;
            if (!count_bits(w, total, spent, done)) {
                status = STATUS_OVERFLOW;
                break;
            }
            if (done) --d;
            continue;
        }
#endif
        bool full = false, ended = false, bound = false;
        const i64 here = d;
        at_level(w, d, [&](i64 k) INLINED {
            if (entering && k > 0) open_level(w, k);
            entering = false;
            bool done;
            const bool paired = k == pair_level(w) && w.state[WARP_PAIRED];
            const u32 mask = paired ? surviving_pairs(w, k, done) : survivors(w, k, done);
            ended = done;
            if (done) d = k - 1;
            if (mask == 0) return;
            if (paired) {
                full = !emit_pairs(w, k, mask);
            } else if (branches(w) ? !counts_one(w, k) : k + 1 < loops || has_tail) {
                bind_next(w, k, mask);
                if (k == once && was_seen(w, k)) return;
                if (!compute_sets(w, k, spent)) return;
                bound = branches(w);
                if (bound) return;
                d = k + 1;
                entering = true;
            } else if (counting) {  // no set depends on a last level: nothing would read it
                total += __popc(mask);
                __syncwarp();
                if (lane() == 0) w.at(AT_MASK, k) = 0;
                __syncwarp();
            } else if (once >= 0) {
                mark_seen(w, k, once, mask);
                d = once;  // one embedding of the vertex is enough
            } else {
                full = !emit_rows(w, k, mask);
            }
        });
        if (full) {
            status = STATUS_FULL;
            break;
        }
        if (branches(w) && (bound || (ended && joined))) {  // here, not at each level: that would be a copy for each
            Place place = {bound ? here : d, joined, false};
            const bool fits = bound ? descend(w, here, place, total, spent) : leave(w, here, place, total);
            d = place.d, joined = place.joined, entering = place.entering;
            if (!fits) {
                status = STATUS_OVERFLOW;
                break;
            }
        }
    }
    __syncwarp();
    if (lane() == 0) {
        w.state[WARP_DEPTH] = d;
        w.state[WARP_ENTERING] = entering;
        w.state[WARP_TOTAL] = total;
        w.state[WARP_JOINED] = joined;
    }
    __syncwarp();
    return status;
}
