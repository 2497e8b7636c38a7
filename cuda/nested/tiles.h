// Comparing every probe row with every build row, in a form that costs two or three instructions a pair.
//
// All terms on one build column become one test: the column's order key lies in an interval of keys that the
// probe row's values give. With key - first <= width in unsigned arithmetic one comparison sees to both ends,
// and an interval that wraps around says "not equal". Keys are 32 bits wide where every column allows it.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/index/packed_columns.h"
#include "cuda/plan.h"

namespace gpujoin::cuda {

// A term as part of a test.
struct TileTerm {
    uint16_t probe_column;
    Comparison comparison;
    uint8_t test;
};

// The build side's half: keys by position.
struct TileView {
    uint32_t tests = 0;  // 0: the join has no tiles
    bool narrow = false;
    const void* keys[kMaxTileTests] = {};  // uint32_t if narrow, else uint64_t
    const TileTerm* terms = nullptr;
    uint32_t term_count = 0;
};

class TileKeys {
  public:
    // columns: views of all build columns, in host memory.
    Status make(const WorkContext& context, const JoinPlan& plan, const DeviceColumn* columns,
                const Positions& positions);
    TileView view() const;

  private:
    bool narrow_ = true;
    DeviceArray<TileTerm> terms_;
    std::vector<DeviceArray<uint32_t>> narrow_keys_;  // by test
    std::vector<DeviceArray<uint64_t>> wide_keys_;
};

// The probe side's half: intervals by row, `rows` for each test; rows that match nothing are not live.
template <typename Key>
struct TileIntervals {
    DeviceArray<Key> first;
    DeviceArray<Key> width;
    DeviceArray<uint8_t> live;
};

// candidates: by row; 0 for rows that cannot match.
template <typename Key>
Status make_intervals(const WorkContext& context, const TileView& tiles, const DeviceColumn* probe,
                      uint64_t rows, const uint32_t* candidates, TileIntervals<Key>* intervals);

}  // namespace gpujoin::cuda
