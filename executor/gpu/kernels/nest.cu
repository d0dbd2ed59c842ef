// Entries: the generic kernel, and what prepares a view for it.

#include "nest.cuh"

// u32 of shared memory that a warp has beside its state
#if defined SPECIAL_LOCAL
#define OWN_WORDS LOCAL_WORDS
#elif defined SPECIAL_BITS
#define OWN_WORDS BITS_OWN_WORDS
#else
#define OWN_WORDS 0
#endif

// The job is a table of numbers and device addresses, then the view table: a parameter, so that it lies in constant memory.
struct JobTable {
    i64 numbers[JOB_FIELDS + MAX_VIEWS * VIEW_FIELDS];
};

// Each warp's state is copied to shared memory at the start of a launch
// and back at its end; a run's first launch is `fresh`.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_PER_MULTIPROCESSOR)
run_nest(const __grid_constant__ JobTable table, i64 fresh, i64 steps, i64 duration) {
    extern __shared__ i64 states[];
    const i64* job = table.numbers;
    const i64 warp = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (warp >= job[JOB_WARPS]) return;
    unsigned long long* header = (unsigned long long*)job[JOB_HEADER];
    if (job[JOB_AFTER] && ((const unsigned long long*)job[JOB_AFTER])[HEADER_UNFINISHED]) {
        if (warp == 0 && lane() == 0) header[HEADER_UNFINISHED] = 1;
        return;
    }
    const i64 words = job[JOB_STATE_WORDS], nodes = TAIL_FIELDS * job[JOB_NODE_COUNT];
    i64* saved = (i64*)job[JOB_STATES] + warp * words;
    const i64 filters = job[JOB_FILTER_WORDS], in_block = threadIdx.x / 32;
    i64* state = states + in_block * (words + nodes);
    u32* shared = (u32*)(states + BLOCK_THREADS / 32 * (words + nodes));
    u32* filter = shared + in_block * filters;
    u32* packed = shared + BLOCK_THREADS / 32 * filters + in_block * PACK_WORDS;  // there may be none
    u32* local = shared + BLOCK_THREADS / 32 * (filters + (job[JOB_PACKS] ? PACK_WORDS : 0)) + in_block * OWN_WORDS;
#ifdef SPECIAL_LOCAL
    ROLLED for (i64 k = lane(); k < LOCAL_FILTER_BITS / 32; k += 32) local[k] = 0;
#endif
    ROLLED for (i64 k = lane(); k < words; k += 32) state[k] = fresh ? 0 : saved[k];
    __syncwarp();
    if (fresh && lane() == 0) {
        state[WARP_DEPTH] = -1;
        state[WARP_NEXT] = warp < job[JOB_STRIDE] ? warp + 1 : 0;
    }
    ROLLED for (i64 k = lane(); k < nodes; k += 32) state[words + k] = 0;
    ROLLED for (i64 k = lane(); k < filters; k += 32) filter[k] = 0;
    __syncwarp();
    const Worker worker = {job,
                           state,
                           state + words,
                           filter,
                           local,
                           packed,
                           (u32*)job[JOB_BUFFERS] + warp * job[JOB_BUFFER_VIDS],
                           (u8*)job[JOB_SCRATCH] + warp * job[JOB_SCRATCH_BYTES],
                           job[JOB_LEVEL_COUNT]};
    const int status = walk(worker, {local, packed}, {steps, nanoseconds() + (unsigned long long)duration, 0});
    if (lane() == 0 && status == STATUS_DONE && state[WARP_TOTAL]) {  // in two halves, so that the sum of all warps fits
        const unsigned long long total = (unsigned long long)state[WARP_TOTAL];
        unsigned long long* sum = header + HEADER_LOW + blockIdx.x % SUMS * SUMS_APART;
        atomicAdd(sum, total & 0xffffffffULL);
        if (total >> 32) atomicAdd(sum + 1, total >> 32);
        state[WARP_TOTAL] = 0;
    }
    __syncwarp();
    ROLLED for (i64 k = lane(); k < words; k += 32) saved[k] = state[k];
    if (lane() == 0 && status != STATUS_DONE) atomicAdd(header + HEADER_UNFINISHED, 1ULL);
    if (lane() == 0 && status == STATUS_OVERFLOW) atomicAdd(header + HEADER_OVERFLOWED, 1ULL);
}

// For each row of a view the position of its first neighbour that is not below the row's own vid.
extern "C" __global__ void fill_split(const i64* view, i64 rows, i64* split) {
    const u32* row = (const u32*)view[VIEW_ROW];
    ROLLED for (i64 r = (i64)blockIdx.x * blockDim.x + threadIdx.x; r < rows; r += (i64)gridDim.x * blockDim.x) {
        const i64 k = lower_bound(row, 0, view[VIEW_INTERVALS], r + 1) - 1;
        const i64 vid = ((const u32*)view[VIEW_FIRST])[k] + (r - row[k]);
        const i64* offsets = row_offsets(view, r);
        const Span span = {offsets[0], offsets[1]};
        split[r] = lower_bound(row_list(view, span), span.start, span.end, vid);
    }
}

#ifndef SPECIAL
// The work units of so many roots, which all have a row: parts of one side of these rows. Warps write behind each root how many
// units there are up to it among 32 of them, first_unit[0] aside, and how many these have.
extern "C" __global__ void count_units(const i64* view, const u32* roots, i64 count, i64 below, i64 part, i64* first_unit,
                                       i64* totals) {
    ROLLED for (i64 chunk = own_number(); chunk * 32 < count; chunk += (i64)gridDim.x * blockDim.x / 32) {
        const i64 k = chunk * 32 + lane();
        i64 upto = 0;
        if (k < count) {
            const i64 row = row_number(view, roots[k]);
            const i64* offsets = row_offsets(view, row);
            const i64 split = only_lower(view) ? offsets[1] : row_split(view, row);
            upto = ((below ? split - offsets[0] : offsets[1] - split) + part - 1) / part;
        }
        ROLLED for (int step = 1; step < 32; step *= 2) {
            const i64 before = __shfl_up_sync(ALL_LANES, upto, step);
            if (lane() >= step) upto += before;
        }
        if (k < count) first_unit[k + 1] = upto;
        if (lane() == 31) totals[chunk] = upto;
    }
}

// Write the root of each unit, and behind each root how many there are up to it. before : how many the roots before each 32 have.
extern "C" __global__ void fill_units(i64* first_unit, i64 count, const i64* before, u32* unit_roots) {
    ROLLED for (i64 chunk = own_number(); chunk * 32 < count; chunk += (i64)gridDim.x * blockDim.x / 32) {
        const i64 k = chunk * 32 + lane(), end = before[chunk] + (k < count ? first_unit[k + 1] : 0);
        const i64 ended = __shfl_up_sync(ALL_LANES, end, 1), start = lane() ? ended : before[chunk];
        if (k == 0) first_unit[0] = 0;
        if (k < count) first_unit[k + 1] = end;
        ROLLED for (int r = 0; r < 32 && chunk * 32 + r < count; ++r) {
            const i64 stop = __shfl_sync(ALL_LANES, end, r);
            ROLLED for (i64 unit = __shfl_sync(ALL_LANES, start, r) + lane(); unit < stop; unit += 32)
                unit_roots[unit] = (u32)(chunk * 32 + r);
        }
    }
}
#endif

#ifndef COLD  // they are made of whole rows
// For each neighbour in a view's rows which of the row's neighbours it has in the view `other`: after the table of where each
// row's matrix begins in u32, i64[rows], -1 for none, a row of bits for each of its neighbours. They are zeros.
extern "C" __global__ void fill_matrices(const i64* view, const i64* other, i64 rows, u32* matrices) {
    const i64* offsets = (const i64*)view[VIEW_OFFSETS];
    const u32 *near = neighbours(view), *theirs = neighbours(other);
    ROLLED for (i64 e = own_number(); e < offsets[rows]; e += (i64)gridDim.x * blockDim.x / 32) {
        i64 row = 0, after = rows;  // the last that does not begin behind e
        ROLLED while (after - row > 1) {
            const i64 middle = (row + after) >> 1;
            if (offsets[middle] <= e) row = middle;
            else after = middle;
        }
        const i64 at = ((const i64*)matrices)[row], start = offsets[row], size = offsets[row + 1] - start;
        if (at < 0) continue;
        u32* out = matrices + at + (e - start) * ((size + 127) / 128 * 4);
        const Span other_row = find_row(other, near[e]);
        at_t from = other_row.start;
        ROLLED for (i64 base = 0; base < size && from < other_row.end; base += 32) {
            // idle lanes search for more than any vid, so that lane 31 always ends furthest
            const i64 x = base + lane() < size ? (i64)near[start + base + lane()] : 1LL << 32;
            const at_t found = lower_bound(theirs, from, other_row.end, x);
            const u32 word = __ballot_sync(ALL_LANES, found < other_row.end && (i64)theirs[found] == x);
            if (lane() == 0) out[base / 32] = word;
            from = __shfl_sync(ALL_LANES, found, 31);
        }
    }
}
#endif

// Send the sums of the counters of so many passes to the host, through page-locked memory: a copy would wait behind the rows
// that are on their way.
extern "C" __global__ void tell_counters(const u64* headers, i64 passes, u64* told) {
    ROLLED for (int k = threadIdx.x; k < HEADER_WORDS; k += blockDim.x) {
        u64 sum = 0;
        ROLLED for (i64 pass = 0; pass < passes; ++pass) {
            const u64* header = headers + pass * HEADER_WORDS;
            sum += k == HEADER_PASSES ? header[HEADER_UNFINISHED] != 0 : header[k];
        }
        told[k] = sum;
    }
}

// The user's id of each vid of a column.
extern "C" __global__ void look_up(const u32* vids, i64 rows, const i64* ids, i64* out) {
    ROLLED for (i64 r = (i64)blockIdx.x * blockDim.x + threadIdx.x; r < rows; r += (i64)gridDim.x * blockDim.x)
        out[r] = ids[vids[r]];
}
