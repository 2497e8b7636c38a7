// Accumulating, an aggregate apart from the other.
#include "cuda/fragment/group_totals.h"

#include <algorithm>
#include <limits>

#include "cuda/fragment/renew_vector.h"
#include "cuda/work/launch.cuh"

namespace gpujoin::cuda {

namespace {

constexpr uint32_t kFewGroups = 1024;

// The rows of a piece, and what is added of them.
struct RowsToAdd {
    const TotalView* totals;
    const uint32_t* groups;  // by row
    SinkValuesView values;

    // Adds 32 rows to a total. Called by all lanes of a warp together.
    __device__ void add(const TotalView& total, uint64_t word) const {
        const uint16_t program = total.spec.value;
        uint32_t added = values.live[word] & values.passed(total.spec, word);
        if (program != kNoNumber) added &= ~values.null(program, word);
        const bool is_added = added >> (threadIdx.x & 31) & 1;
        const uint64_t i = word * Warp::kThreads + (threadIdx.x & 31);
        add_rows(total, added, is_added ? groups[i] : 0,
                 is_added && program != kNoNumber ? values.number(program, i) : 0);
    }
};

// A warp has 32 rows and one aggregate.
struct AddRows {
    RowsToAdd rows;

    __device__ void operator()(const Warp&, uint64_t unit) const {
        rows.add(rows.totals[unit / rows.values.words], unit % rows.values.words);
    }
};

// Few groups: a block has some rows and one aggregate, which it adds up in shared memory first.
struct AddRowsOfFewGroups {
    static constexpr uint64_t kWords = 128;

    RowsToAdd rows;
    uint64_t stretches;
    uint32_t groups;

    __device__ void operator()(uint64_t unit) const {
        __shared__ uint4 shared_values[kFewGroups];
        __shared__ uint8_t shared_flags[kFewGroups];
        const TotalView& total = rows.totals[unit / stretches];
        TotalView own = total;
        // A sum of floats has half of the room, what it lost the other half.
        auto* shared_lost = reinterpret_cast<double*>(shared_values) + kFewGroups;
        own.place = {reinterpret_cast<std::byte*>(shared_values), total.place.lost ? shared_lost : nullptr};
        own.null_flags = shared_flags;
        own.has_always_value = false;
        for (uint32_t group = threadIdx.x; group < groups; group += kBlockThreads) begin_total(own, group);
        __syncthreads();
        const uint64_t begin = unit % stretches * kWords;
        const uint64_t end = begin + kWords < rows.values.words ? begin + kWords : rows.values.words;
        for (uint64_t word = begin + threadIdx.x / 32; word < end; word += kBlockThreads / 32)
            rows.add(own, word);
        __syncthreads();
        for (uint32_t group = threadIdx.x; group < groups; group += kBlockThreads)
            add_total(own, group, total, group);
    }
};

Status begin_totals(const WorkContext& context, const TotalView* totals, uint64_t count, uint64_t first,
                    uint64_t groups) {
    return for_each(context.handle(), count * groups,
                    [=] __device__(uint64_t i) { begin_total(totals[i / groups], first + i % groups); });
}

Status merge_totals(const WorkContext& context, const TotalView* from, uint64_t count, uint64_t first,
                    uint64_t groups, const TotalView* to, const uint32_t* groups_of_rows) {
    return for_each(context.handle(), count * groups, [=] __device__(uint64_t i) {
        const uint64_t total = i / groups, row = i % groups;
        add_total(from[total], static_cast<uint32_t>(first + row), to[total], groups_of_rows[row]);
    });
}

Status finish_floats(const WorkContext& context, const TotalView* totals, uint64_t count, uint64_t groups) {
    return for_each(context.handle(), count * groups, [=] __device__(uint64_t i) {
        const TotalView& total = totals[i / groups];
        const uint64_t group = i % groups;
        if (total.place.lost) FloatSum::round(total.place, static_cast<uint32_t>(group));
        if (!total.is_float || !total.is_extreme()) return;
        int64_t& word = reinterpret_cast<int64_t*>(total.place.values)[group];
        word = bits_of_ordered(word);
    });
}

}  // namespace

GroupTotals::GroupTotals(const DeviceSink& sink, GroupStore* store)
    : sink_(sink), store_(*store), sizes_(sink.summed_floats().size()) {
    const SinkPlan& plan = sink.plan();
    auto column = static_cast<uint32_t>(plan.keys.size());
    auto lost = static_cast<uint32_t>(plan.group_columns.size());
    for (const AggregateSpec& aggregate : plan.aggregates) {
        if (aggregate.function != AggregateFunction::Any) {
            totals_.push_back({aggregate, is_of_floats(plan, aggregate), {}, nullptr, true});
            columns_.push_back({column, is_sum_of_floats(plan, aggregate) ? lost++ : 0});
        }
        column++;
    }
}

bool GroupTotals::has_range(const std::vector<double>& sizes, uint64_t rows) const {
    if (rows + store_.groups() <= 1) return true;
    for (size_t i = 0; i < sizes.size(); i++)
        if (!(sizes_[i] + sizes[i] <= kMostSummed)) return false;
    return true;
}

void GroupTotals::take_range(const std::vector<double>& sizes) {
    for (size_t i = 0; i < sizes.size(); i++) sizes_[i] += sizes[i];
}

// An input that is added as it is has a value in each row if it has no NULLs.
void GroupTotals::note_values(std::span<const PickedView> inputs) {
    const SinkPlan& plan = sink_.plan();
    for (TotalView& total : totals_) {
        const AggregateSpec& spec = total.spec;
        if (!total.has_always_value || spec.value == kNoNumber) continue;
        const FilterProgram& program = plan.values[spec.value];
        const bool is_input = spec.filter == kNoNumber && is_column(program);
        const PickedView* input = is_input ? &inputs[program.step[0].operand] : nullptr;
        if (input && !input->validity && !input->null_flags) continue;
        total.has_always_value = false;
        version_ = 0;
    }
}

void GroupTotals::note_values(const GroupTotals& other) {
    for (size_t i = 0; i < totals_.size(); i++) {
        if (!totals_[i].has_always_value || other.totals_[i].has_always_value) continue;
        totals_[i].has_always_value = false;
        version_ = 0;
    }
}

Status GroupTotals::refresh(const WorkContext& context) {
    if (version_ == store_.version()) return {};
    for (size_t i = 0; i < totals_.size(); i++) {
        const auto [column, lost] = columns_[i];
        totals_[i].place = {store_.values(column),
                            lost ? reinterpret_cast<double*>(store_.values(lost)) : nullptr};
        totals_[i].null_flags = store_.null_flags(column);
    }
    GPUJOIN_RETURN_IF_FAILED(renew_vector(context, totals_, &device_totals_));
    version_ = store_.version();
    return {};
}

Status GroupTotals::views(const WorkContext& context, const TotalView** on_device, const TotalView** on_host,
                          uint32_t* count) {
    GPUJOIN_RETURN_IF_FAILED(refresh(context));
    *on_device = device_totals_.data();
    *on_host = totals_.data();
    *count = static_cast<uint32_t>(totals_.size());
    return {};
}

Status GroupTotals::begin(const WorkContext& context, uint64_t groups) {
    GPUJOIN_RETURN_IF_FAILED(refresh(context));
    return begin_totals(context, device_totals_.data(), totals_.size(), store_.groups(), groups);
}

Status GroupTotals::add(const WorkContext& context, const SinkValuesView& values,
                        const uint32_t* groups_of_rows) {
    const RowsToAdd rows{device_totals_.data(), groups_of_rows, values};
    if (store_.groups() > kFewGroups)
        return for_each_warp(context.handle(), totals_.size() * values.words, AddRows{rows});
    const uint64_t stretches = (values.words + AddRowsOfFewGroups::kWords - 1) / AddRowsOfFewGroups::kWords;
    return for_each_block(context.handle(), totals_.size() * stretches,
                          AddRowsOfFewGroups{rows, stretches, static_cast<uint32_t>(store_.groups())});
}

Status GroupTotals::merge(const WorkContext& context, GroupTotals* other, uint64_t first, uint64_t groups,
                          const uint32_t* groups_of_rows) {
    GPUJOIN_RETURN_IF_FAILED(other->refresh(context));
    return merge_totals(context, other->device_totals_.data(), totals_.size(), first, groups,
                        device_totals_.data(), groups_of_rows);
}

Status GroupTotals::close(const WorkContext& context) {
    if (std::none_of(totals_.begin(), totals_.end(), [](const TotalView& total) { return total.is_float; }))
        return {};
    GPUJOIN_RETURN_IF_FAILED(refresh(context));
    return finish_floats(context, device_totals_.data(), totals_.size(), store_.groups());
}

void GroupTotals::clear() {
    std::fill(sizes_.begin(), sizes_.end(), 0.0);
    for (TotalView& total : totals_) total.has_always_value = true;
    version_ = 0;
}

}  // namespace gpujoin::cuda
