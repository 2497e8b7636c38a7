// Laying values of any length side by side.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/columns/copy_bytes.cuh"
#include "cuda/work/launch.cuh"
#include "cuda/work/primitives.h"
#include "cuda/work/work.h"
#include "engine/search.h"

namespace gpujoin::cuda {

// Where each of `rows` values begins if they lie side by side, and the end. length_of(i): of a value, uint64.
template <typename LengthOf>
Status find_starts(const WorkContext& context, uint64_t rows, uint64_t* starts, const LengthOf& length_of) {
    GPUJOIN_RETURN_IF_FAILED(for_each(
        context.handle(), rows + 1, [=] __device__(uint64_t i) { starts[i] = i < rows ? length_of(i) : 0; }));
    return exclusive_sum(context.account, context.handle(), starts, rows + 1);
}

// The same as offsets of a batch.
inline Status copy_starts(const WorkContext& context, uint64_t rows, const uint64_t* starts,
                          uint32_t* offsets) {
    return for_each(context.handle(), rows + 1,
                    [=] __device__(uint64_t i) { offsets[i] = static_cast<uint32_t>(starts[i]); });
}

// Copies the values to where they begin, data_bytes in all. address_of(i): of a value. Each thread writes one
// stretch of the data, whatever values it belongs to: long values are shared out.
template <typename AddressOf>
Status gather_bytes(const WorkContext& context, uint64_t rows, const uint64_t* starts, uint64_t data_bytes,
                    std::byte* data, const AddressOf& address_of) {
    constexpr uint64_t kStretch = 64;
    return for_each(context.handle(), (data_bytes + kStretch - 1) / kStretch, [=] __device__(uint64_t i) {
        uint64_t at = i * kStretch;
        uint64_t end = at + kStretch < data_bytes ? at + kStretch : data_bytes;
        for (uint64_t value = find_owner(starts, rows, at); at < end; value++) {
            uint64_t stop = starts[value + 1] < end ? starts[value + 1] : end;
            if (stop == at) continue;
            const std::byte* from = address_of(value);
            copy_bytes(data + at, from + (at - starts[value]), stop - at);
            at = stop;
        }
    });
}

}  // namespace gpujoin::cuda
