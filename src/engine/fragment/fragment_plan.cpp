// Finding out which columns of a fragment are read, and what its sink adds up as floats.
#include "engine/fragment/fragment_plan.h"

#include <algorithm>

namespace gpujoin {

namespace {

bool has_top_rows(const FragmentSpec& spec) {
    return spec.sink == SinkKind::Rows && spec.top.count > 0;
}

// Numbers the columns that are read, of each origin apart, in the order of the spec.
class LiveColumns {
  public:
    explicit LiveColumns(const FragmentView& fragment)
        : fragment_(fragment), is_read_(fragment.stages.size() + 1) {
        is_read_[0].resize(fragment.spec->source_columns);
        for (size_t i = 0; i < fragment.stages.size(); i++)
            is_read_[i + 1].resize(fragment.stages[i].join.outputs);
        for (const StageSpec& stage : fragment.stages) read({stage.probe, stage.join.probe_columns});
        read({fragment.spec->input, fragment.spec->inputs});
        if (has_top_rows(*fragment.spec)) read({&fragment.spec->top.key, 1});
    }

    std::vector<uint16_t> of_origin(size_t origin) const {
        std::vector<uint16_t> columns;
        for (size_t i = 0; i < is_read_[origin].size(); i++)
            if (is_read_[origin][i]) columns.push_back(static_cast<uint16_t>(i));
        return columns;
    }

    // Source columns keep their numbers: a batch has them all.
    LiveColumn find(ColumnRef ref) const {
        const ColumnSpec spec = column_of(fragment_, ref);
        if (ref.origin == kFromSource) return {0, ref.column, spec};
        const auto& before = is_read_[ref.origin + 1u];
        const auto number = std::count(before.begin(), before.begin() + ref.column, true);
        return {static_cast<uint16_t>(ref.origin + 1), static_cast<uint16_t>(number), spec};
    }

  private:
    void read(std::span<const ColumnRef> refs) {
        for (ColumnRef ref : refs)
            is_read_[ref.origin == kFromSource ? 0 : ref.origin + 1u][ref.column] = true;
    }

    const FragmentView& fragment_;
    std::vector<std::vector<bool>> is_read_;
};

TopPlan make_top_plan(const FragmentView& fragment, const LiveColumns& live) {
    const TopSpec& top = fragment.spec->top;
    TopPlan plan{top.count, {}, {}};
    if (top.count == 0) return plan;
    if (has_top_rows(*fragment.spec))
        plan.key = live.find(top.key);
    else
        plan.key = {0, top.key.column, group_column(fragment, top.key.column)};
    plan.order = {top_key(fragment), top.is_descending != 0, top.nulls_first != 0};
    return plan;
}

SinkPlan make_sink_plan(const FragmentView& fragment, const LiveColumns& live) {
    const FragmentSpec& spec = *fragment.spec;
    SinkPlan sink{};
    sink.kind = spec.sink;
    sink.names_source_rows = spec.sink == SinkKind::Rows && !fragment.stages.empty();
    sink.completes_groups = spec.completes_groups != 0;
    sink.estimated_groups = spec.estimated_groups;
    for (uint32_t i = 0; i < spec.inputs; i++) sink.inputs.push_back(live.find(spec.input[i]));
    sink.keys.assign(spec.key, spec.key + spec.keys);
    sink.values.assign(spec.value, spec.value + spec.values);
    sink.aggregates.assign(spec.aggregate, spec.aggregate + spec.aggregates);
    for (uint32_t i = 0; i < group_columns(spec); i++)
        sink.group_columns.push_back(group_column(fragment, i));
    sink.top = make_top_plan(fragment, live);
    return sink;
}

}  // namespace

FragmentPlan make_fragment_plan(const FragmentView& fragment) {
    const LiveColumns live(fragment);
    FragmentPlan plan{{}, fragment.spec->source_columns, {}, make_sink_plan(fragment, live)};
    for (uint16_t column : live.of_origin(0)) plan.source.push_back(live.find({kFromSource, column}));
    for (size_t i = 0; i < fragment.stages.size(); i++) {
        const StageSpec& stage = fragment.stages[i];
        StagePlan& planned = plan.stages.emplace_back();
        for (uint32_t c = 0; c < stage.join.probe_columns; c++) {
            planned.probe.push_back(live.find(stage.probe[c]));
            planned.probe.back().spec = stage.join.probe[c];
        }
        planned.outputs = live.of_origin(i + 1);
        for (uint16_t output : planned.outputs) planned.columns.push_back(output_column(stage.join, output));
    }
    return plan;
}

std::unique_ptr<JoinSpec> planned_join(const StageSpec& stage, const StagePlan& plan) {
    auto join = std::make_unique<JoinSpec>(stage.join);
    join->outputs = static_cast<uint16_t>(plan.outputs.size());
    for (size_t i = 0; i < plan.outputs.size(); i++) join->output[i] = stage.join.output[plan.outputs[i]];
    return join;
}

bool is_of_floats(const SinkPlan& sink, const AggregateSpec& aggregate) {
    return aggregate.function != AggregateFunction::Any && aggregate.value != kNoNumber &&
           kind_of(sink.values[aggregate.value]) == ValueKind::Float;
}

bool is_sum_of_floats(const SinkPlan& sink, const AggregateSpec& aggregate) {
    return aggregate.function == AggregateFunction::Sum && is_of_floats(sink, aggregate);
}

std::vector<uint16_t> summed_floats(const SinkPlan& sink) {
    std::vector<uint16_t> programs;
    for (const AggregateSpec& aggregate : sink.aggregates)
        if (is_sum_of_floats(sink, aggregate)) programs.push_back(aggregate.value);
    std::sort(programs.begin(), programs.end());
    programs.erase(std::unique(programs.begin(), programs.end()), programs.end());
    return programs;
}

std::vector<ColumnSpec> stored_group_columns(const SinkPlan& sink) {
    const auto sums = std::ranges::count_if(
        sink.aggregates, [&](const AggregateSpec& aggregate) { return is_sum_of_floats(sink, aggregate); });
    std::vector<ColumnSpec> columns = sink.group_columns;
    columns.resize(columns.size() + static_cast<size_t>(sums),
                   ColumnSpec{ColumnType::Fixed8, ValueOrder::Float, 0, 0});
    return columns;
}

}  // namespace gpujoin
