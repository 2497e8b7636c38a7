// Long work on the device, in steps of a few milliseconds, between which calls take turns.
#pragma once

#include "cuda/work/launch.cuh"
#include "cuda/work/work.h"

namespace gpujoin::cuda {

// A body whose indexes start at `first`.
template <typename Body>
struct ShiftedBody {
    Body body;
    uint64_t first;
    __device__ void operator()(uint64_t i) const { body(first + i); }
};

// Calls body(i) for each i in [0, count), on the device (for_each()).
template <typename Body>
Status for_each_in_steps(const WorkContext& context, uint64_t count, const Body& body) {
    constexpr uint64_t kStep = 8 << 20;
    for (uint64_t first = 0; first < count; first += kStep) {
        GPUJOIN_RETURN_IF_FAILED(first > 0 ? end_step(context) : check_cancelled(context.cancel));
        uint64_t step = count - first < kStep ? count - first : kStep;
        GPUJOIN_RETURN_IF_FAILED(for_each(context.handle(), step, ShiftedBody<Body>{body, first}));
    }
    return {};
}

}  // namespace gpujoin::cuda
