// DeviceScratch: scratch memory on the device. It may be made in one batch and used in others, on any stream:
// what was queued before it changes has been waited for.
#pragma once

#include "cuda/fragment/batch_work.h"
#include "engine/fragment/place.h"

namespace gpujoin::cuda {

class DeviceScratch final : public Scratch {
  public:
    explicit DeviceScratch(const BatchWork& work) : work_(work) {}
    ~DeviceScratch() override { (void)work_.use(); }

    Status reserve(uint64_t bytes) override {
        if (bytes <= bytes_) return {};
        GPUJOIN_RETURN_IF_FAILED(work_.use());
        GPUJOIN_RETURN_IF_FAILED(work_.synchronize());
        memory_.reset();
        data_ = nullptr;
        bytes_ = 0;
        const WorkContext context = work_.context();
        GPUJOIN_RETURN_IF_FAILED(memory_.allocate(context.account, bytes, context.handle()));
        GPUJOIN_RETURN_IF_FAILED(work_.synchronize());
        data_ = memory_.data();
        bytes_ = bytes;
        return {};
    }

  private:
    const BatchWork& work_;
    DeviceArray<std::byte> memory_;
};

}  // namespace gpujoin::cuda
