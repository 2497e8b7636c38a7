// Which rows in device memory can be among the first ones.
#pragma once

#include "cuda/fragment/picked_view.cuh"
#include "cuda/work/work.h"
#include "engine/fragment/top_keys.h"

namespace gpujoin::cuda {

// Finds those of so many rows, and adds the keys that come first of these. list: their ascending numbers, on
// the device, with room for all. All of them where memory is short, and then nothing is listed.
Status select_top_rows(const WorkContext& context, const PickedView& key, const TopOrder& order,
                       uint32_t rows, TopKeys& keys, uint32_t* list, uint32_t* selected);

}  // namespace gpujoin::cuda
