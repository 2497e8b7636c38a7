// The one way to launch: a body called once for each index. Kernels are written as bodies, which also makes
// them plain functions of an index that can be read, and run, anywhere.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "cuda/work/check.h"
#include "cuda/work/kernel.h"

namespace gpujoin::cuda {

inline constexpr uint32_t kBlockThreads = 256;

template <typename Body>
__global__ void __launch_bounds__(kBlockThreads)
    call_for_each(uint64_t count, const __grid_constant__ Body body) {
    uint64_t i = uint64_t{blockIdx.x} * kBlockThreads + threadIdx.x;
    if (i < count) body(i);
}

// Calls body(0) … body(count - 1) on the device, in any order, one thread each. count < 2^39.
template <typename Body>
Status for_each(cudaStream_t stream, uint64_t count, const Body& body) {
    if (count == 0) return {};
    if (fault_due(FaultPoint::Launch)) return cuda_status(cudaErrorLaunchFailure, "kernel launch");
    auto blocks = static_cast<uint32_t>((count + kBlockThreads - 1) / kBlockThreads);
    call_for_each<<<blocks, kBlockThreads, 0, stream>>>(count, body);
    GPUJOIN_CHECK_CUDA(cudaGetLastError());
    return {};
}

// The 32 threads of a warp, for bodies that are called once a warp: outside of ballot() and each() all of
// them do the same. On the host one thread plays them all.
struct Warp {
    static constexpr uint32_t kThreads = 32;

    // Bit i is test(i).
    template <typename Test>
    __device__ uint32_t ballot(const Test& test) const {
#ifdef __CUDA_ARCH__
        return __ballot_sync(0xffffffff, test(threadIdx.x & 31));
#else
        uint32_t bits = 0;
        for (uint32_t i = 0; i < kThreads; i++) bits |= static_cast<uint32_t>(test(i)) << i;
        return bits;
#endif
    }

    // Calls task(i) in thread i.
    template <typename Task>
    __device__ void each(const Task& task) const {
#ifdef __CUDA_ARCH__
        task(threadIdx.x & 31);
#else
        for (uint32_t i = 0; i < kThreads; i++) task(i);
#endif
    }
};

template <typename Body>
__global__ void __launch_bounds__(kBlockThreads)
    call_for_warps(uint64_t count, const __grid_constant__ Body body) {
    uint64_t i = (uint64_t{blockIdx.x} * kBlockThreads + threadIdx.x) / Warp::kThreads;
    if (i < count) body(Warp{}, i);
}

// Calls body(warp, 0) … body(warp, count - 1), one warp each. count < 2^34.
template <typename Body>
Status for_each_warp(cudaStream_t stream, uint64_t count, const Body& body) {
    if (count == 0) return {};
    if (fault_due(FaultPoint::Launch)) return cuda_status(cudaErrorLaunchFailure, "kernel launch");
    constexpr uint64_t kWarps = kBlockThreads / Warp::kThreads;
    auto blocks = static_cast<uint32_t>((count + kWarps - 1) / kWarps);
    call_for_warps<<<blocks, kBlockThreads, 0, stream>>>(count, body);
    GPUJOIN_CHECK_CUDA(cudaGetLastError());
    return {};
}

template <typename Body>
__global__ void __launch_bounds__(kBlockThreads) call_for_blocks(const __grid_constant__ Body body) {
    body(blockIdx.x);
}

// Calls body(0) … body(count - 1), one block of kBlockThreads threads each. count < 2^31.
template <typename Body>
Status for_each_block(cudaStream_t stream, uint64_t count, const Body& body) {
    if (count == 0) return {};
    if (fault_due(FaultPoint::Launch)) return cuda_status(cudaErrorLaunchFailure, "kernel launch");
    call_for_blocks<<<static_cast<uint32_t>(count), kBlockThreads, 0, stream>>>(body);
    GPUJOIN_CHECK_CUDA(cudaGetLastError());
    return {};
}

template <typename Body>
__global__ void __launch_bounds__(kBlockThreads)
    call_for_blocks_with_memory(const __grid_constant__ Body body) {
    extern __shared__ int4 shared[];
    body(blockIdx.x, reinterpret_cast<std::byte*>(shared));
}

// Calls body(0, memory) … body(count - 1, memory) like for_each_block(), with so many bytes of shared memory
// for each, at most what find_shared_memory() says.
template <typename Body>
Status for_each_block_with_memory(cudaStream_t stream, uint64_t count, uint64_t bytes, const Body& body) {
    if (count == 0) return {};
    if (fault_due(FaultPoint::Launch)) return cuda_status(cudaErrorLaunchFailure, "kernel launch");
    auto* const kernel = call_for_blocks_with_memory<Body>;
    if (bytes > 0) GPUJOIN_RETURN_IF_FAILED(allow_shared_memory(kernel));
    kernel<<<static_cast<uint32_t>(count), kBlockThreads, bytes, stream>>>(body);
    GPUJOIN_CHECK_CUDA(cudaGetLastError());
    return {};
}

// At most 64 candidates that lie next to each other and belong to one owner.
struct CandidateUnit {
    uint64_t position = 0;
    uint32_t owner = 0;
    uint32_t candidates = 0;
};

// A warp tests the units of its 32 lanes one after the other, with two candidates a lane, so that
// neighbouring lanes read neighbouring candidates.
template <typename Body>
__global__ void __launch_bounds__(kBlockThreads)
    call_for_units(uint64_t count, const __grid_constant__ Body body) {
    constexpr uint32_t kAllLanes = 0xffffffff;
    uint64_t i = uint64_t{blockIdx.x} * kBlockThreads + threadIdx.x;
    uint32_t lane = threadIdx.x & 31;
    CandidateUnit own;
    if (i < count) own = body.unit(i);
    uint64_t mask = 0;
    for (uint32_t left = __ballot_sync(kAllLanes, own.candidates > 0); left; left &= left - 1) {
        uint32_t turn = __ffs(static_cast<int>(left)) - 1;
        CandidateUnit unit;
        unit.position = __shfl_sync(kAllLanes, own.position, turn);
        unit.owner = __shfl_sync(kAllLanes, own.owner, turn);
        unit.candidates = __shfl_sync(kAllLanes, own.candidates, turn);
        bool low = lane < unit.candidates && body.test(unit, lane);
        bool high = lane + 32 < unit.candidates && body.test(unit, lane + 32);
        uint64_t low_bits = __ballot_sync(kAllLanes, low);
        uint64_t high_bits = __ballot_sync(kAllLanes, high);
        if (lane == turn) mask = low_bits | high_bits << 32;
    }
    if (i < count) body.finish(i, own, mask);
}

// For each i below count: tests the candidates of body.unit(i) by body.test(unit, number) and hands the mask
// of those that passed to body.finish(i, unit, mask).
template <typename Body>
Status for_each_unit(cudaStream_t stream, uint64_t count, const Body& body) {
    if (count == 0) return {};
    if (fault_due(FaultPoint::Launch)) return cuda_status(cudaErrorLaunchFailure, "kernel launch");
    auto blocks = static_cast<uint32_t>((count + kBlockThreads - 1) / kBlockThreads);
    call_for_units<<<blocks, kBlockThreads, 0, stream>>>(count, body);
    GPUJOIN_CHECK_CUDA(cudaGetLastError());
    return {};
}

}  // namespace gpujoin::cuda
