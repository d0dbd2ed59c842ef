// Lookups of vids in three layouts of an ELP: the interval index by the product's own `find_row`, hash-PCSR as GSI lays it
// out, plain CSR (index_layouts.py). index_gpu.py adds the #defines and puts the include in its place.
//
// A layout is a struct. `prepare` is called by a whole block, before it looks up in an ELP; `find` by all lanes of a warp
// together, each with a vid of its own or, where it is not `active`, with none. All read the ELP's row of the table, which
// is in shared memory (the product has it in constant memory).

#include "lookup.cuh"

typedef unsigned long long u64;

#define NO_VID 0xffffffffu

// ---- interval index ----------------------------------------------------------------------------

struct Intervals {
    __device__ static void prepare(const i64*, u32*, i64) {}

    __device__ static Span find(const i64* row, const u32*, i64, u32 vid, bool active) {
        return active ? find_row(row, vid) : Span{0, 0};
    }
};

// The same with offsets of 4 bytes, as the other layouts have them.
struct CompactIntervals {
    __device__ static void prepare(const i64*, u32*, i64) {}

    __device__ static Span find(const i64* row, const u32*, i64, u32 vid, bool active) {
        const i64 found = active ? row_number(row, vid) : -1;
        if (found < 0) return {0, 0};
        const u32* offsets = (const u32*)row[COMPACT_OFFSETS] + found;
        return {offsets[0], offsets[1]};
    }
};

// `Intervals` with the first vids in shared memory (geneva-tpds §4.1 and algorithm 3, line 2): all of them where
// they are at most `room`, otherwise every `step`-th, and the search ends in global memory.
struct SharedIntervals {
    __device__ static i64 step(const i64* row, i64 room) { return (row[VIEW_INTERVALS] + room - 1) / room; }

    __device__ static void prepare(const i64* row, u32* shared, i64 room) {
        const u32* first = (const u32*)row[VIEW_FIRST];
        const i64 apart = step(row, room), n = row[VIEW_INTERVALS];
        for (i64 k = threadIdx.x; k * apart < n; k += blockDim.x) shared[k] = first[k * apart];
        __syncthreads();
    }

    __device__ static i64 number(const i64* row, const u32* shared, i64 room, i64 vid) {
        const i64 from_first = vid - row[VIEW_FIRST0];
        if (from_first >= 0 && from_first < row[VIEW_LENGTH0]) return row[VIEW_ROW0] + from_first;
        const int n = (int)row[VIEW_INTERVALS], apart = (int)step(row, room);
        int low = 0, high = (n + apart - 1) / apart;
        ROLLED while (low < high) {
            const int middle = (low + high) >> 1;
            if ((i64)shared[middle] <= vid) low = middle + 1;
            else high = middle;
        }
        if (low == 0) return -1;
        const i64 start = (i64)(low - 1) * apart;
        const i64 k = lower_bound((const u32*)row[VIEW_FIRST], start + 1, min(start + apart, (i64)n), vid + 1) - 1;
        const i64 within = vid - ((const u32*)row[VIEW_FIRST])[k];
        return within < ((const u32*)row[VIEW_LENGTH])[k] ? ((const u32*)row[VIEW_ROW])[k] + within : -1;
    }

    __device__ static Span find(const i64* row, const u32* shared, i64 room, u32 vid, bool active) {
        const i64 found = active ? number(row, shared, room, vid) : -1;
        if (found < 0) return {0, 0};
        const i64* offsets = (const i64*)row[VIEW_OFFSETS] + found;
        return {offsets[0], offsets[1]};
    }
};

// ---- hash-PCSR ---------------------------------------------------------------------------------

__device__ INLINE u32 murmur(u32 vid) {  // MurmurHash2 of four bytes
    const u32 m = 0x5bd1e995u;
    u32 k = vid * m;
    k ^= k >> 24;
    k *= m;
    u32 h = (HASH_SEED ^ 4u) * m ^ k;
    h ^= h >> 13;
    h *= m;
    return h ^ h >> 15;
}

// The remainder by a divisor that is known only at run time, as GSI's program has it.
struct Divided {
    __device__ static u32 group(const i64* row, u32 vid) { return murmur(vid) % (u32)row[HASH_GROUPS]; }
};

// The same number by two multiplications (Lemire, Kaser, Kurz: Faster remainder by direct computation, 2019).
struct Multiplied {
    __device__ static u32 group(const i64* row, u32 vid) {
        return (u32)__umul64hi((u64)row[HASH_MAGIC] * murmur(vid), (u64)row[HASH_GROUPS]);
    }
};

// A thread for each vid reads two pairs at a time and stops at the vid or at the first free pair.
template <class Remainder>
struct HashByThread {
    __device__ static void prepare(const i64*, u32*, i64) {}

    __device__ static Span find(const i64* row, const u32*, i64, u32 vid, bool active) {
        u32 group = active ? Remainder::group(row, vid) : NO_VID;
        ROLLED while (group != NO_VID) {
            const u32* words = (const u32*)row[HASH_WORDS] + (i64)group * 32;
            ROLLED for (int k = 0; k < 32; k += 4) {
                const uint4 pairs = *(const uint4*)(words + k);
                if (pairs.x == vid) return {pairs.y, pairs.w};
                if (pairs.x == NO_VID) return {0, 0};
                if (k == 28) group = pairs.z;  // (GID, END)
                else if (pairs.z == vid) return {pairs.w, words[k + 5]};
                else if (pairs.z == NO_VID) return {0, 0};
            }
        }
        return {0, 0};
    }
};

// A warp for each vid: its lanes read a group in one transaction and probe all pairs at once (GSI's way, but through
// registers, where GSI goes through shared memory).
template <class Remainder>
struct HashByWarp {
    __device__ static void prepare(const i64*, u32*, i64) {}

    __device__ static Span find(const i64* row, const u32*, i64, u32 vid, bool active) {
        const u32* words = (const u32*)row[HASH_WORDS];
        const u32 asked = __ballot_sync(ALL_LANES, active);
        Span mine = {0, 0};
        ROLLED for (int k = 0; k < 32 && asked >> k; k++) {
            const u32 x = __shfl_sync(ALL_LANES, vid, k);
            u32 group = Remainder::group(row, x);
            ROLLED while (group != NO_VID) {
                const u32 word = words[(i64)group * 32 + lane()];
                const u32 same = __ballot_sync(ALL_LANES, word == x) & 0x15555555u;  // vids of the first 15 pairs
                if (same) {
                    const int at = __ffs(same);  // the lane after that of the vid
                    const u32 start = __shfl_sync(ALL_LANES, word, at), end = __shfl_sync(ALL_LANES, word, at + 2);
                    if (lane() == k) mine = {start, end};
                    break;
                }
                group = __shfl_sync(ALL_LANES, word, 30);
            }
        }
        return mine;
    }
};

// ---- plain CSR ---------------------------------------------------------------------------------

struct Csr {
    __device__ static void prepare(const i64*, u32*, i64) {}

    __device__ static Span find(const i64* row, const u32*, i64, u32 vid, bool active) {
        if (!active) return {0, 0};
        const u32* offsets = (const u32*)row[CSR_OFFSETS] + vid;
        return {offsets[0], offsets[1]};
    }
};

// ---- what is done with the answers -------------------------------------------------------------

__device__ INLINE u64 mix(u64 x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
    return x ^ x >> 31;
}

// The digest of a vid and its row, as index_layouts.digest makes it.
__device__ INLINE u64 digest(const u32* list, u32 vid, Span span) {
    u64 found = span.size();
    ROLLED for (i64 p = 0; p < span.size(); p++) found += mix((u64)p << 32 | list[span.start + p]);
    return mix(found ^ mix(vid));
}

__device__ INLINE void add(u64* sum, u64 mine) {
    for (int apart = 16; apart; apart >>= 1) mine += __shfl_down_sync(ALL_LANES, mine, apart);
    if (lane() == 0) atomicAdd(sum, mine);
}

// All lookups of the chunks, i64[count, 3]: an ELP, and a range of `vids`. sums: of starts and of ends where there is a
// row, u64[SLOTS, 2], to be summed up (warps that add to one place would wait for each other, and be timed for that); or
// the digest of each ELP, u64[elps].
template <class Layout, bool DIGEST>
__device__ INLINE void look_up(const i64* table, const u32* vids, const i64* chunks, i64 count, i64 room, u64* sums) {
    extern __shared__ u32 shared[];
    __shared__ i64 row[VIEW_FIELDS];
    u64 starts = 0, ends = 0;
    for (i64 c = blockIdx.x; c < count; c += gridDim.x) {
        const i64 elp = chunks[3 * c], begin = chunks[3 * c + 1], end = chunks[3 * c + 2];
        __syncthreads();  // the last chunk's row is read no longer
        if (threadIdx.x < VIEW_FIELDS) row[threadIdx.x] = table[elp * VIEW_FIELDS + threadIdx.x];
        __syncthreads();
        Layout::prepare(row, shared, room);
        ROLLED for (i64 base = begin + (threadIdx.x & ~31); base < end; base += blockDim.x) {
            const bool active = base + lane() < end;
            const u32 vid = active ? vids[base + lane()] : 0;
            const Span found = Layout::find(row, shared, room, vid, active);
            if (DIGEST) {
                starts += active ? digest(neighbours(row), vid, found) : 0;
            } else if (found.start < found.end) {
                starts += found.start;
                ends += found.end;
            }
        }
        if (DIGEST) {
            __syncwarp();
            add(sums + elp, starts);
            starts = 0;
        }
    }
    __syncwarp();
    if (!DIGEST) {
        u64* slot = sums + 2 * ((blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) % SLOTS);
        add(slot, starts);
        add(slot + 1, ends);
    }
}

#define ENTRIES(NAME, ...)                                                                                        \
    extern "C" __global__ void __launch_bounds__(1024, CROWDED) time_##NAME(                                      \
        const i64* table, const u32* vids, const i64* chunks, i64 count, i64 room, u64* sums) {                   \
        look_up<__VA_ARGS__, false>(table, vids, chunks, count, room, sums);                                      \
    }                                                                                                             \
    extern "C" __global__ void __launch_bounds__(1024, CROWDED) digest_##NAME(                                    \
        const i64* table, const u32* vids, const i64* chunks, i64 count, i64 room, u64* sums) {                   \
        look_up<__VA_ARGS__, true>(table, vids, chunks, count, room, sums);                                       \
    }

ENTRIES(interval, Intervals)
ENTRIES(compact, CompactIntervals)
ENTRIES(shared, SharedIntervals)
ENTRIES(thread, HashByThread<Divided>)
ENTRIES(thread_multiplied, HashByThread<Multiplied>)
ENTRIES(warp, HashByWarp<Divided>)
ENTRIES(warp_multiplied, HashByWarp<Multiplied>)
ENTRIES(csr, Csr)
