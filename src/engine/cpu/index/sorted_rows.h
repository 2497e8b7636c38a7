// The build rows that can match, with an order key each, sorted: what the index and sort_merge algorithms
// start from.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/cpu/context.h"
#include "engine/cpu/work/partition.h"
#include "engine/cpu/work/row_sort.h"

namespace gpujoin::cpu {

// Sorts the build rows without NULLs by the order key of a column.
inline Status sort_build_rows(JoinContext& join, uint32_t column, SortedRows* sorted) {
    const KeyReader reader = join.build_reader();
    const ColumnSource source = join.build.source(column);
    auto keyed = [&](uint64_t first, uint32_t block, KeyedRow* out) {
        uint32_t kept = 0;
        for (uint64_t row = first; row < first + block; row++) {
            if (reader.has_nulls() && reader.has_null(row)) continue;
            out[kept++] = {order_key(source.spec, source.value(row)), static_cast<uint32_t>(row)};
        }
        return kept;
    };
    return sort_rows(*join.workers, join.limits.cancel, join.limits.host_memory, join.build.rows(), keyed,
                     sorted);
}

// Calls use(begin, end) for the parts of [0, count), in parallel.
template <typename Use>
Status for_blocks(JoinContext& join, uint64_t count, const Use& use) {
    uint32_t tasks = static_cast<uint32_t>((count + kParallelRows - 1) / kParallelRows);
    return join.workers->run(join.limits.cancel, tasks, [&](uint32_t task) {
        uint64_t begin = task * kParallelRows;
        use(begin, std::min(count, begin + kParallelRows));
    });
}

}  // namespace gpujoin::cpu
