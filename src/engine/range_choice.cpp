// See range_choice.h. A sample of a thousand rows on either side tells candidates of 1 % from those of 10 %,
// which is enough, and takes less than a millisecond.
#include "engine/range_choice.h"

#include <algorithm>
#include <map>

#include "engine/key_interval.h"

namespace gpujoin {

namespace {

constexpr uint64_t kSampledBuildRows = 4096;  // at even distances
constexpr uint64_t kSampledProbeRows = 1024;  // the first ones
constexpr uint64_t kBetterByFar = 4;

class RangeSample {
  public:
    explicit RangeSample(const JoinSpec& spec) : spec_(spec) {}

    Status take(const SampledSide& probe, const SampledSide& build);
    // How many sampled build keys the terms on a column leave to the sampled probe rows, all together.
    uint64_t count_candidates(uint16_t build_column) const;

  private:
    KeyInterval interval(uint16_t build_column, uint64_t probe_row) const;

    const JoinSpec& spec_;
    uint64_t probe_rows_ = 0;
    std::map<uint16_t, std::vector<SampledKey>> probe_;
    std::map<uint16_t, std::vector<uint64_t>> build_;  // sorted, without NULLs
};

Status RangeSample::take(const SampledSide& probe, const SampledSide& build) {
    probe_rows_ = std::min(probe.rows, kSampledProbeRows);
    const uint64_t step = build.rows / kSampledBuildRows + 1;
    for (uint32_t i = 0; i < spec_.ranges; i++) {
        const Term& term = spec_.range[i];
        auto [probe_keys, probe_is_new] = probe_.try_emplace(term.probe_column, probe_rows_);
        if (probe_is_new) GPUJOIN_RETURN_IF_FAILED(probe.read(term.probe_column, 1, &probe_keys->second));
        auto [build_keys, build_is_new] = build_.try_emplace(term.build_column);
        if (!build_is_new) continue;
        std::vector<SampledKey> sampled((build.rows + step - 1) / step);
        GPUJOIN_RETURN_IF_FAILED(build.read(term.build_column, step, &sampled));
        for (const SampledKey& key : sampled)
            if (key.valid) build_keys->second.push_back(key.key);
        std::sort(build_keys->second.begin(), build_keys->second.end());
    }
    return {};
}

// What the terms on a build column leave to a probe row; nothing if it has a NULL in any range term.
KeyInterval RangeSample::interval(uint16_t build_column, uint64_t probe_row) const {
    KeyInterval interval;
    for (uint32_t i = 0; i < spec_.ranges; i++) {
        const Term& term = spec_.range[i];
        const SampledKey& key = probe_.at(term.probe_column)[probe_row];
        if (!key.valid) return {1, 0};
        if (term.build_column == build_column)
            interval.narrow(key.key, compare_order_keys(spec_.probe[term.probe_column], term.comparison));
    }
    return interval;
}

uint64_t RangeSample::count_candidates(uint16_t build_column) const {
    const std::vector<uint64_t>& keys = build_.at(build_column);
    uint64_t count = 0;
    for (uint64_t row = 0; row < probe_rows_; row++) {
        KeyInterval inside = interval(build_column, row);
        if (inside.empty()) continue;
        auto first = std::lower_bound(keys.begin(), keys.end(), inside.low);
        count += static_cast<uint64_t>(std::upper_bound(first, keys.end(), inside.high) - first);
    }
    return count;
}

}  // namespace

bool has_range_choice(const JoinSpec& spec) {
    for (uint32_t i = 1; i < spec.ranges; i++)
        if (spec.range[i].build_column != spec.range[0].build_column) return true;
    return false;
}

uint16_t likely_range_column(const JoinSpec& spec) {
    for (uint32_t i = 0; i < spec.ranges; i++) {
        for (uint32_t j = i + 1; j < spec.ranges; j++) {
            if (spec.range[i].build_column == spec.range[j].build_column &&
                is_lower_bound(spec.range[i]) != is_lower_bound(spec.range[j]))
                return spec.range[i].build_column;
        }
    }
    // Bounded on one side: from above, so that the rows near the bound, which are the likely ones where the
    // column is one end of an interval, come last: what an engine cuts off first is at the other end.
    for (uint32_t i = 0; i < spec.ranges; i++)
        if (!is_lower_bound(spec.range[i])) return spec.range[i].build_column;
    return spec.range[0].build_column;
}

Status choose_range_column(const JoinSpec& spec, const SampledSide& probe, const SampledSide& build,
                           uint16_t* column) {
    RangeSample sample(spec);
    GPUJOIN_RETURN_IF_FAILED(sample.take(probe, build));
    *column = likely_range_column(spec);
    uint64_t fewest = sample.count_candidates(*column) / kBetterByFar;
    for (uint32_t i = 0; i < spec.ranges; i++) {
        uint64_t count = sample.count_candidates(spec.range[i].build_column);
        if (count >= fewest) continue;
        fewest = count;
        *column = spec.range[i].build_column;
    }
    return {};
}

}  // namespace gpujoin
