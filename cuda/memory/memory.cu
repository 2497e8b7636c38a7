// The device memory pool and its accounts.
#include "cuda/memory/memory.h"

#include <new>

namespace gpujoin::cuda {

namespace {

// What the pool hands out at least; charged as such.
constexpr uint64_t kAllocationUnit = 512;

// Larger blocks are not kept, nor more than this part of what the pool may take.
constexpr uint64_t kLargestKept = 64 << 20;
constexpr uint64_t kKeptShare = 16;

uint64_t charged_bytes(uint64_t bytes) {
    return (bytes + kAllocationUnit - 1) / kAllocationUnit * kAllocationUnit;
}

Status no_room(uint64_t bytes, const Ledger& ledger) {
    return failure(Fault::DeviceMemory, "53200", "out of device memory")
        .with_detail("Failed on a request of %llu bytes; joins on this device use %llu of %llu bytes.",
                     static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(ledger.used()),
                     static_cast<unsigned long long>(ledger.limit()));
}

}  // namespace

// The streams are gone by now.
DevicePool::~DevicePool() {
    for (auto& [key, blocks] : kept_) {
        for (void* memory : blocks) cudaFree(memory);
    }
    if (pool_) cudaMemPoolDestroy(pool_);
}

Status DevicePool::open() {
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device_;
    GPUJOIN_CHECK_CUDA(cudaMemPoolCreate(&pool_, &properties));
    uint64_t keep = UINT64_MAX;  // reserved memory is never given back to the driver
    GPUJOIN_CHECK_CUDA(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep));
    int waits = 0;  // no stream waits for the work of another, to have its memory
    GPUJOIN_CHECK_CUDA(cudaMemPoolSetAttribute(pool_, cudaMemPoolReuseAllowInternalDependencies, &waits));
    return {};
}

bool DevicePool::charge(uint64_t bytes) {
    if (ledger_.charge(bytes)) return true;
    give_up_kept();
    if (ledger_.charge(bytes)) return true;
    reclaim(bytes);
    return ledger_.charge(bytes);
}

Status DevicePool::allocate(uint64_t bytes, cudaStream_t stream, void** memory) {
    if (fault_due(FaultPoint::Allocation))
        return cuda_status(cudaErrorMemoryAllocation, "cudaMallocFromPoolAsync");
    *memory = take_kept(bytes, stream);
    if (*memory) return {};
    if (!charge(bytes)) return no_room(bytes, ledger_);
    cudaError_t error = cudaMallocFromPoolAsync(memory, bytes, pool_, stream);
    if (error == cudaErrorMemoryAllocation) {
        // There is room by the ledger: in what is kept, or given back behind work of other streams.
        reclaim(bytes);
        cudaDeviceSynchronize();
        cudaGetLastError();
        error = cudaMallocFromPoolAsync(memory, bytes, pool_, stream);
    }
    if (error != cudaSuccess) ledger_.release(bytes);
    return cuda_status(error, "cudaMallocFromPoolAsync");
}

// Errors show in the next call that is checked.
void DevicePool::release(void* memory, uint64_t bytes, cudaStream_t stream) {
    if (keep(memory, bytes, stream)) return;
    cudaFreeAsync(memory, stream);
    ledger_.release(bytes);
}

void* DevicePool::take_kept(uint64_t bytes, cudaStream_t stream) {
    std::lock_guard lock(mutex_);
    auto found = kept_.find({stream, bytes});
    if (found == kept_.end() || found->second.empty()) return nullptr;
    void* memory = found->second.back();
    found->second.pop_back();
    kept_bytes_ -= bytes;
    return memory;
}

bool DevicePool::keep(void* memory, uint64_t bytes, cudaStream_t stream) {
    std::lock_guard lock(mutex_);
    if (bytes > kLargestKept || kept_bytes_ + bytes > ledger_.limit() / kKeptShare) return false;
    try {
        kept_[{stream, bytes}].push_back(memory);
    } catch (const std::bad_alloc&) {
        return false;
    }
    kept_bytes_ += bytes;
    return true;
}

void DevicePool::give_up_kept() {
    std::lock_guard lock(mutex_);
    for (auto& [key, blocks] : kept_) {
        for (void* memory : blocks) cudaFreeAsync(memory, key.first);
    }
    ledger_.release(std::exchange(kept_bytes_, 0));
    kept_.clear();
}

void DevicePool::reclaim(uint64_t bytes) {
    if (reclaim_) reclaim_(bytes);
    give_up_kept();
}

Status MemoryAccount::allocate(uint64_t bytes, cudaStream_t stream, void** memory) {
    uint64_t charged = charged_bytes(bytes);
    if (!ledger_.charge(charged)) return no_room(bytes, pool_->ledger());
    Status status = pool_->allocate(charged, stream, memory);
    if (!status.ok()) ledger_.release(charged);
    return status;
}

void MemoryAccount::release(void* memory, uint64_t bytes, cudaStream_t stream) {
    uint64_t charged = charged_bytes(bytes);
    ledger_.release(charged);
    pool_->release(memory, charged, stream);
}

}  // namespace gpujoin::cuda
