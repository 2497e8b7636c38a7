// Choosing rows of a KeptBatch, and laying them side by side as columns of a batch.
#pragma once

#include <cstdint>
#include <span>

#include "cuda/kept/kept_batch.cuh"
#include "cuda/work/work.h"

namespace gpujoin::cuda {

// Lists the rows of the batch, of which there are so many, that pass, in their order. list: room for all of
// them. Waits for the stream.
Status select_kept(const WorkContext& context, const KeptBatch& batch, uint32_t rows, uint32_t* list,
                   uint32_t* selected);

// Where a column goes. Places are multiples of 8 bytes.
struct KeptTarget {
    uint16_t column;
    ColumnType type;               // that values are wanted in; not narrower than they are
    std::byte* values = nullptr;   // fixed types
    uint32_t* validity = nullptr;  // with room to the end of the last word; nullptr: not wanted
};

// Values of fixed types, and NULLs of all. list: of the rows that are wanted; nullptr: 0, 1, …
Status gather_kept(const WorkContext& context, const KeptBatch& batch, std::span<const KeptTarget> targets,
                   const uint32_t* list, uint32_t rows);

// Of a Bytes column: where each value begins if they lie side by side, and the end; rows + 1.
Status find_kept_starts(const WorkContext& context, const KeptBatch& batch, uint16_t column,
                        const uint32_t* list, uint32_t rows, uint64_t* starts);

// The values by these starts, of which there are so many bytes.
Status gather_kept_bytes(const WorkContext& context, const KeptBatch& batch, uint16_t column,
                         const uint32_t* list, uint32_t rows, const uint64_t* starts, uint64_t data_bytes,
                         uint32_t* offsets, std::byte* data);

}  // namespace gpujoin::cuda
