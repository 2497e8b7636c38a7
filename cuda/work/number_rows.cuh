// Row numbers as an array: what rows are sorted or listed by.
#pragma once

#include <cstdint>

#include "cuda/work/launch.cuh"

namespace gpujoin::cuda {

template <typename Number>
Status number_rows(const WorkContext& context, uint64_t rows, Number* numbers, uint64_t first = 0) {
    return for_each(context.handle(), rows,
                    [=] __device__(uint64_t row) { numbers[row] = static_cast<Number>(first + row); });
}

}  // namespace gpujoin::cuda
