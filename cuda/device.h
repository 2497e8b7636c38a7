// A device in use: what all of its joins share. Nothing here is made or destroyed while joins run.
#pragma once

#include <string>

#include "cuda/kept/resident_columns.h"
#include "cuda/memory/memory.h"
#include "cuda/radix/radix_plan.h"
#include "cuda/work/stream.h"
#include "cuda/memory/transfer.h"
#include "engine/engine.h"

namespace gpujoin::cuda {

class Device {
  public:
    // cache_bytes: of the second-level cache, by which joins are planned; 0 for as many as the device has.
    Device(int number, uint64_t memory_limit, uint64_t cache_bytes = 0)
        : number_(number), cache_bytes_(cache_bytes), pool_(number, memory_limit), resident_(&pool_) {
        pool_.set_reclaim([this](uint64_t bytes) { resident_.give_up(bytes); });
    }
    ~Device() { pool_.set_reclaim(nullptr); }

    // Makes pool, streams and staging buffers. The device is the current one.
    Status open();

    // Makes the device the calling thread's current one: the first thing every entry does.
    Status use() const {
        GPUJOIN_CHECK_CUDA(cudaSetDevice(number_));
        return {};
    }

    int number() const { return number_; }
    DevicePool& pool() { return pool_; }
    StreamPool& streams() { return streams_; }
    Transfer& transfer() { return transfer_; }
    ResidentColumns& resident() { return resident_; }
    const std::string& name() const { return name_; }
    const DeviceFacts& facts() const { return facts_; }

  private:
    Status find_facts();

    const int number_;
    const uint64_t cache_bytes_;
    std::string name_;
    DeviceFacts facts_;
    DevicePool pool_;
    StreamPool streams_;
    Transfer transfer_;
    ResidentColumns resident_;
};

// Describes a device without making a context on it; free_memory is left at 0.
Status describe_device(int number, DeviceDescription* description);

}  // namespace gpujoin::cuda
