// FusedLookup: a stage of those that are probed together (fused_probe.h), as kernels see it.
#pragma once

#include <cstdint>

#include "cuda/hash/lookup.cuh"
#include "wire/fragment_spec.h"

namespace gpujoin::cuda {

// How many rows have passed each stage.
struct PassedRows {
    uint32_t of[kMaxStages];
};

struct FusedLookup {
    LookupView lookup;
    RequiredColumns required;
    uint32_t first_column;     // its probe columns begin with that one, of all stages' probe columns
    bool keeps_found;          // rows that have a partner go on
    bool keeps_lost;           // rows that have none do
    const uint32_t* key_rows;  // by row of the piece: the row of the probe columns; nullptr: the source's row
    uint32_t* partners;        // by row of the piece: what was found, or kNoRow; nullptr: nobody asks

    // Whether a row of a piece of the source, which begins with row `first` of it, goes on. columns: the
    // probe columns of all stages.
    __device__ bool passes(const DeviceColumn* columns, uint64_t first, uint64_t row) const {
        uint32_t leader = kNoRow;
        const bool is_found = finds(columns + first_column, key_rows ? key_rows[row] : first + row, &leader);
        if (partners) partners[row] = is_found ? lookup.row_at(leader) : kNoRow;
        return is_found ? keeps_found : keeps_lost;
    }

  private:
    __device__ bool finds(const DeviceColumn* probe, uint64_t row, uint32_t* leader) const {
        if ((key_rows && row == kNoRow) || !required.present(probe, row)) return false;
        switch (lookup.layout.bytes) {
            case 4:
                return find_leader<uint32_t>(lookup, probe, row, leader);
            case 8:
                return find_leader<uint64_t>(lookup, probe, row, leader);
            case 16:
                return find_leader<Key16>(lookup, probe, row, leader);
            default:
                return find_leader<HashedKey>(lookup, probe, row, leader);
        }
    }
};

}  // namespace gpujoin::cuda
