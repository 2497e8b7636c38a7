// Choice of the algorithm.
#include "engine/algorithm.h"

namespace gpujoin {

bool can_execute(Algorithm algorithm, const JoinSpec& spec) {
    switch (algorithm) {
        case Algorithm::Auto:
            return false;
        case Algorithm::Hash:
            return spec.equalities > 0;
        case Algorithm::Index:
            return spec.ranges > 0;
        case Algorithm::SortMerge:
            return spec.equalities > 0 || spec.ranges > 0;
        case Algorithm::NestedLoop:
            return true;
    }
    return false;
}

Algorithm choose_algorithm(const JoinSpec& spec, uint64_t build_rows) {
    // Below this many rows testing all of them is no slower than any search, and needs no sorting.
    constexpr uint64_t kFewRows = 32;
    if (can_execute(spec.algorithm, spec)) return spec.algorithm;
    if (can_execute(Algorithm::Index, spec) && (spec.equalities > 0 || build_rows > kFewRows))
        return Algorithm::Index;
    return can_execute(Algorithm::Hash, spec) ? Algorithm::Hash : Algorithm::NestedLoop;
}

bool gives_any_order(const JoinSpec& spec) {
    return spec.order == ResultOrder::Any && !spec.names_probe_rows;
}

bool may_partition(const JoinSpec& spec) {
    return gives_any_order(spec) && spec.kind == JoinKind::Inner && spec.equalities > 0 &&
           spec.ranges + spec.filters + spec.program.steps == 0;
}

bool partitioning_pays(uint64_t build_rows, uint64_t probe_rows) {
    constexpr uint64_t kBuildRowsPerProbeRow = 4;
    constexpr uint64_t kMostRows = UINT32_MAX - 1;  // row numbers are 32-bit, and the last stands for none
    return probe_rows >= build_rows / kBuildRowsPerProbeRow && probe_rows <= kMostRows;
}

}  // namespace gpujoin
