// HostColumn: a picked column in host memory.
#pragma once

#include "engine/cpu/columns/column_source.h"
#include "engine/fragment/aggregator.h"

namespace gpujoin {

struct HostColumn {
    cpu::ColumnSource source;
    const uint32_t* rows = nullptr;  // the i-th row is rows[i]; nullptr: i

    uint32_t row(uint32_t i) const { return rows ? rows[i] : i; }
};

inline HostColumn host_column(const PickedColumn& picked) {
    return {cpu::probe_source(picked.spec, picked.column), picked.rows};
}

// Some rows of the columns, so many as a word has bits.
struct RowBlock {
    static constexpr uint32_t kMostLanes = 64;

    std::span<const HostColumn> columns;
    uint32_t first;
    uint32_t lanes;

    uint64_t all() const { return lanes < kMostLanes ? (uint64_t{1} << lanes) - 1 : ~uint64_t{0}; }
};

// Calls visit(lane) for each bit of the mask.
template <typename Visit>
inline void for_each_lane(uint64_t mask, const Visit& visit) {
    if (mask == ~uint64_t{0}) {
        for (uint32_t lane = 0; lane < RowBlock::kMostLanes; lane++) visit(lane);
    } else {
        for (; mask != 0; mask &= mask - 1) visit(static_cast<uint32_t>(__builtin_ctzll(mask)));
    }
}

}  // namespace gpujoin
