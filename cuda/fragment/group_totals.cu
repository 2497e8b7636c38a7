// Accumulating. A warp has 32 rows and one aggregate.
#include "cuda/fragment/group_totals.h"

#include <limits>

#include "cuda/fragment/total_adding.cuh"
#include "cuda/work/launch.cuh"

namespace gpujoin::cuda {

namespace {

struct AddRows {
    const TotalView* totals;
    const uint32_t* groups;
    SinkValuesView values;

    __device__ void operator()(const Warp&, uint64_t unit) const {
        const TotalView& total = totals[unit / values.words];
        const uint64_t word = unit % values.words;
        const uint16_t program = total.spec.value;
        uint32_t added = values.live[word] & values.passed(total.spec, word);
        if (program != kNoNumber) added &= ~values.null(program, word);
        if (added == 0) return;
        const uint64_t i = word * Warp::kThreads + (threadIdx.x & 31);
        const bool is_added = added >> (threadIdx.x & 31) & 1;
        const uint32_t group = is_added ? groups[i] : 0;
        if (is_added && total.null_flags) total.null_flags[group] = 0;
        if (total.spec.function == AggregateFunction::Count) return count_lanes(added, group, total.values);
        add(total, added, group, is_added ? values.number(program, i) : 0);
    }

    __device__ static void add(const TotalView& total, uint32_t added, uint32_t group, int64_t value) {
        switch (total.spec.function) {
            case AggregateFunction::Sum:
                return total.is_float ? add_lanes<FloatSum>(added, group, value, total.values)
                                      : add_lanes<IntegerSum>(added, group, value, total.values);
            case AggregateFunction::Minimum:
                return add_lanes<Extreme<true>>(added, group, key(total, value), total.values);
            default:
                return add_lanes<Extreme<false>>(added, group, key(total, value), total.values);
        }
    }
    __device__ static int64_t key(const TotalView& total, int64_t value) {
        return total.is_float ? ordered_bits(as_double(value)) : value;
    }
};

// What a group has before any row is added.
__device__ void begin_total(const TotalView& total, uint64_t group) {
    auto* words = reinterpret_cast<int64_t*>(total.values);
    if (total.null_flags) total.null_flags[group] = 1;
    switch (total.spec.function) {
        case AggregateFunction::Minimum:
            words[group] = std::numeric_limits<int64_t>::max();
            return;
        case AggregateFunction::Maximum:
            words[group] = std::numeric_limits<int64_t>::min();
            return;
        case AggregateFunction::Sum:
            if (total.is_float) break;
            words[2 * group] = words[2 * group + 1] = 0;
            return;
        default:
            break;
    }
    words[group] = 0;
}

Status begin_totals(const WorkContext& context, const TotalView* totals, uint64_t count, uint64_t first,
                    uint64_t groups) {
    return for_each(context.handle(), count * groups,
                    [=] __device__(uint64_t i) { begin_total(totals[i / groups], first + i % groups); });
}

Status restore_floats(const WorkContext& context, const TotalView* totals, uint64_t count, uint64_t groups) {
    return for_each(context.handle(), count * groups, [=] __device__(uint64_t i) {
        const TotalView& total = totals[i / groups];
        const bool is_extreme = total.spec.function == AggregateFunction::Minimum ||
                                total.spec.function == AggregateFunction::Maximum;
        if (!total.is_float || !is_extreme) return;
        int64_t& word = reinterpret_cast<int64_t*>(total.values)[i % groups];
        word = bits_of_ordered(word);
    });
}

}  // namespace

GroupTotals::GroupTotals(const DeviceSink& sink, GroupStore* store)
    : sink_(sink), store_(*store), sizes_(sink.summed_floats().size()) {
    auto column = static_cast<uint32_t>(sink.plan().keys.size());
    for (const AggregateSpec& aggregate : sink.plan().aggregates) {
        if (aggregate.function != AggregateFunction::Any) {
            totals_.push_back({aggregate, sink.is_of_floats(aggregate), nullptr, nullptr});
            columns_.push_back(column);
        }
        column++;
    }
}

// Rounding may add a little to what a sum amounts to.
bool GroupTotals::has_range(const std::vector<double>& sizes, uint64_t rows) const {
    if (rows + store_.groups() <= 1) return true;
    for (size_t i = 0; i < sizes.size(); i++)
        if (!(sizes_[i] + sizes[i] <= std::numeric_limits<double>::max() / 2)) return false;
    return true;
}

void GroupTotals::take_range(const std::vector<double>& sizes) {
    for (size_t i = 0; i < sizes.size(); i++) sizes_[i] += sizes[i];
}

// Where the store has other memory than before, so have the aggregates.
Status GroupTotals::refresh(const WorkContext& context) {
    if (version_ == store_.version()) return {};
    for (size_t i = 0; i < totals_.size(); i++) {
        totals_[i].values = store_.values(columns_[i]);
        totals_[i].null_flags = store_.null_flags(columns_[i]);
    }
    GPUJOIN_RETURN_IF_FAILED(upload_vector(context.upload(), totals_, &device_totals_));
    version_ = store_.version();
    return {};
}

Status GroupTotals::begin(const WorkContext& context, uint64_t groups) {
    GPUJOIN_RETURN_IF_FAILED(refresh(context));
    return begin_totals(context, device_totals_.data(), totals_.size(), store_.groups(), groups);
}

Status GroupTotals::add(const WorkContext& context, const SinkValuesView& values,
                        const uint32_t* groups_of_rows) {
    return for_each_warp(context.handle(), totals_.size() * values.words,
                         AddRows{device_totals_.data(), groups_of_rows, values});
}

Status GroupTotals::close(const WorkContext& context) {
    return restore_floats(context, device_totals_.data(), totals_.size(), store_.groups());
}

void GroupTotals::clear() {
    std::fill(sizes_.begin(), sizes_.end(), 0.0);
}

}  // namespace gpujoin::cuda
