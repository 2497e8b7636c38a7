// See range_choice.h. A sample of a thousand rows on either side tells candidates of 1 % from those of 10 %,
// which is enough, and takes less than a millisecond.
#include "engine/cpu/range_choice.h"

#include <algorithm>

#include "engine/cpu/range_plan.h"

namespace gpujoin::cpu {

namespace {

constexpr uint64_t kSampledRows = 4096;  // of the build side; of a batch the first kBlockRows
constexpr uint64_t kBetterByFar = 4;

// The order keys of build rows at even distances, sorted.
std::vector<uint64_t> sample_keys(const JoinContext& join, uint16_t column) {
    const ColumnSource source = join.build.source(column);
    const uint64_t step = join.build.rows() / kSampledRows + 1;
    std::vector<uint64_t> keys;
    for (uint64_t row = 0; row < join.build.rows(); row += step)
        if (!source.is_null(row)) keys.push_back(order_key(source.spec, source.value(row)));
    std::sort(keys.begin(), keys.end());
    return keys;
}

// How many sampled keys the terms on a column leave to the rows of the batch, all together.
uint64_t count_candidates(const JoinContext& join, const BatchView& batch, uint16_t column) {
    std::vector<Term> terms;
    for (uint32_t i = 0; i < join.spec.ranges; i++)
        if (join.spec.range[i].build_column == column) terms.push_back(join.spec.range[i]);
    const std::vector<uint64_t> keys = sample_keys(join, column);
    const KeyReader reader = join.probe_reader(batch);
    const auto rows = static_cast<uint32_t>(std::min<uint64_t>(batch.rows, kBlockRows));
    uint64_t low[kBlockRows], high[kBlockRows];
    RangeBounds(join.spec, terms, batch).read(0, rows, low, high);
    uint64_t count = 0;
    for (uint32_t i = 0; i < rows; i++) {
        if (low[i] > high[i] || (reader.has_nulls() && reader.has_null(i))) continue;
        auto first = std::lower_bound(keys.begin(), keys.end(), low[i]);
        count += static_cast<uint64_t>(std::upper_bound(first, keys.end(), high[i]) - first);
    }
    return count;
}

}  // namespace

bool has_range_choice(const JoinSpec& spec) {
    for (uint32_t i = 1; i < spec.ranges; i++)
        if (spec.range[i].build_column != spec.range[0].build_column) return true;
    return false;
}

uint16_t choose_range_column(const JoinContext& join, const BatchView& batch) {
    const JoinSpec& spec = join.spec;
    uint16_t best = plan_ranges(join).build_column;
    uint64_t fewest = count_candidates(join, batch, best) / kBetterByFar;
    for (uint32_t i = 0; i < spec.ranges; i++) {
        uint64_t count = count_candidates(join, batch, spec.range[i].build_column);
        if (count >= fewest) continue;
        fewest = count;
        best = spec.range[i].build_column;
    }
    return best;
}

}  // namespace gpujoin::cpu
