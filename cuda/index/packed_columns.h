// The build side's half of packed terms (packed_terms.cuh): order keys by position, and the tree of zones.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/index/packed_terms.cuh"
#include "cuda/work/work.h"

namespace gpujoin::cuda {

// The views of all build columns, in both memories; not owned.
struct BuildColumns {
    const DeviceColumn* host;
    const DeviceColumn* device;
};

// The order in which candidates lie.
struct Positions {
    const uint32_t* rows;  // the build row at each position; null when a position is a row
    uint64_t count;
    bool sorted;  // so that a tree of zones is worth having
};

class PackedColumns {
  public:
    // columns: views of all build columns, in host memory.
    Status pack(const WorkContext& context, const std::vector<Term>& terms, const DeviceColumn* columns,
                const Positions& positions);
    PackedTerms view() const;

  private:
    struct Column {
        DeviceArray<uint64_t> keys;
        DeviceArray<uint64_t> least;
        DeviceArray<uint64_t> greatest;
    };
    Status pack_column(const WorkContext& context, const DeviceColumn& column, const Positions& positions,
                       Column* packed) const;
    void number_nodes(uint64_t positions);

    std::vector<Column> columns_;
    DeviceArray<PackedTerm> terms_;
    bool has_tree_ = false;
    uint64_t nodes_ = 0;
    uint64_t level_first_[kZoneLevels] = {};
};

// The order keys of the rows at each position, rebased; as uint32_t where order_key_bits() are no more
// than 32. rows: null when a position is a row.
template <typename Key>
Status find_order_keys(const WorkContext& context, DeviceColumn column, const uint32_t* rows,
                       uint64_t positions, Key* keys, const KeySpan& span = {});
inline bool has_narrow_order_keys(const DeviceColumn& column) {
    return column.width > 0 && column.width <= sizeof(uint32_t);
}

}  // namespace gpujoin::cuda
