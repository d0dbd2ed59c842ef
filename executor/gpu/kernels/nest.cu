// Entry of the generic kernel. The job is a table of numbers and device addresses; each warp's state is copied to shared
// memory at the start of a launch and back at its end.

#include "nest.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_PER_MULTIPROCESSOR)
run_nest(const i64* job, i64 steps, i64 duration) {
    extern __shared__ i64 states[];
    const i64 warp = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (warp >= job[JOB_WARPS]) return;
    const i64 words = job[JOB_STATE_WORDS];
    i64* saved = (i64*)job[JOB_STATES] + warp * words;
    i64* state = states + threadIdx.x / 32 * words;
    for (i64 k = lane(); k < words; k += 32) state[k] = saved[k];
    __syncwarp();
    const Worker worker = {job, state, (u32*)job[JOB_BUFFERS] + warp * job[JOB_BUFFER_VIDS], job[JOB_LEVEL_COUNT]};
    const int status = walk(worker, {steps, nanoseconds() + (unsigned long long)duration, 0});
    for (i64 k = lane(); k < words; k += 32) saved[k] = state[k];
    if (lane() == 0 && status != STATUS_DONE)
        atomicAdd((unsigned long long*)job[JOB_HEADER] + HEADER_UNFINISHED, 1ULL);
    if (lane() == 0 && status == STATUS_OVERFLOW)
        atomicAdd((unsigned long long*)job[JOB_HEADER] + HEADER_OVERFLOWED, 1ULL);
}
