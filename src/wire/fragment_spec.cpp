// What the columns of a fragment are, and the checking of fragments that come from the other side.
#include "wire/fragment_spec.h"

namespace gpujoin {

namespace {

static_assert(kMaxGroupKeys + kMaxAggregates <= kMaxColumns, "what a group has fits into a result");

constexpr const char* kWhat = "fragment specification";

Status malformed_fragment(const char* part, uint64_t value) {
    return malformed(kWhat, part, value);
}

Status fragment_has_at_most(const char* what, uint64_t value, uint64_t limit) {
    return value <= limit ? Status{} : malformed_fragment(what, value);
}

Status fragment_has_below(const char* what, uint64_t value, uint64_t limit) {
    return value < limit ? Status{} : malformed_fragment(what, value);
}

Status validate_counts(const FragmentView& fragment) {
    const FragmentSpec& spec = *fragment.spec;
    const uint64_t stages = fragment.stages.size();
    GPUJOIN_RETURN_IF_FAILED(fragment_has_at_most("The sink", static_cast<uint64_t>(spec.sink),
                                                  static_cast<uint64_t>(SinkKind::Groups)));
    if (stages > kMaxStages) return malformed_fragment("The number of stages", stages);
    if (stages == 0 && spec.sink == SinkKind::Rows && !spec.source_is_unnamed)
        return malformed_fragment("The source_is_unnamed flag of rows that no stage gives", 0);
    GPUJOIN_RETURN_IF_FAILED(
        fragment_has_at_most("The number of source columns", spec.source_columns, kMaxColumns));
    const bool has_groups = spec.sink == SinkKind::Groups;
    const uint32_t inputs = fragment.is_plain_join() ? 0 : kMaxColumns;
    GPUJOIN_RETURN_IF_FAILED(fragment_has_at_most("The number of inputs", spec.inputs, inputs));
    GPUJOIN_RETURN_IF_FAILED(
        fragment_has_at_most("The number of keys", spec.keys, has_groups ? kMaxGroupKeys : 0));
    GPUJOIN_RETURN_IF_FAILED(
        fragment_has_at_most("The number of values", spec.values, has_groups ? kMaxValues : 0));
    return fragment_has_at_most("The number of aggregates", spec.aggregates, has_groups ? kMaxAggregates : 0);
}

// Whether what is referred to is there, in the source or a stage before `stages`.
Status validate_ref(const FragmentView& fragment, ColumnRef ref, uint32_t stages) {
    if (ref.origin == kFromSource)
        return fragment_has_below("A column of the source", ref.column, fragment.spec->source_columns);
    GPUJOIN_RETURN_IF_FAILED(fragment_has_below("The stage that a column is from", ref.origin, stages));
    return fragment_has_below("An output of a stage", ref.column, fragment.stages[ref.origin].join.outputs);
}

// A probe column is what it refers to, and knows of its NULLs.
Status validate_probe(const FragmentView& fragment, uint32_t stage, uint32_t number) {
    const ColumnSpec& probe = fragment.stages[stage].join.probe[number];
    const ColumnRef ref = fragment.stages[stage].probe[number];
    GPUJOIN_RETURN_IF_FAILED(validate_ref(fragment, ref, stage));
    const ColumnSpec column = column_of(fragment, ref);
    if (probe.type == column.type && probe.order == column.order && probe.nullable >= column.nullable)
        return {};
    return malformed(kWhat).with_detail("Probe column %u of stage %u is not what it refers to.", number,
                                        stage);
}

// What a join must be whose results are for the next stage, or for groups.
Status validate_inner_stage(const JoinSpec& join) {
    const JoinRows gives = rows_of(join.kind);
    if (gives.scans_build())
        return malformed_fragment("The kind of a join", static_cast<uint64_t>(join.kind));
    if (join.order != ResultOrder::Ascending)
        return malformed_fragment("The order of a stage's results", static_cast<uint64_t>(join.order));
    if (!join.names_probe_rows) return malformed_fragment("The names_probe_rows flag of a stage", 0);
    GPUJOIN_RETURN_IF_FAILED(fragment_has_at_most("The number of columns a stage carries", join.carried, 0));
    GPUJOIN_RETURN_IF_FAILED(
        fragment_has_at_most("The client_decides flag of a stage", join.client_decides, 0));
    if (may_be_undecided(join.program))
        return malformed(kWhat).with_detail(
            "Pairs of a stage may be undecided, but they do not come to the client.");
    return {};
}

Status validate_stage(const FragmentView& fragment, uint32_t number) {
    const StageSpec& stage = fragment.stages[number];
    GPUJOIN_RETURN_IF_FAILED(validate(stage.join));
    if (!fragment.is_plain_join()) GPUJOIN_RETURN_IF_FAILED(validate_inner_stage(stage.join));
    for (uint32_t i = 0; i < stage.join.probe_columns; i++)
        GPUJOIN_RETURN_IF_FAILED(validate_probe(fragment, number, i));
    return {};
}

// Source rows are the probe rows of a plain join.
Status validate_identity(const FragmentView& fragment) {
    const StageSpec& stage = fragment.stages[0];
    if (stage.join.probe_columns != fragment.spec->source_columns)
        return malformed_fragment("The number of probe columns", stage.join.probe_columns);
    for (uint32_t i = 0; i < stage.join.probe_columns; i++)
        if (stage.probe[i].column != i)
            return malformed_fragment("A column of the source", stage.probe[i].column);
    return {};
}

Status validate_aggregate(const FragmentSpec& spec, const AggregateSpec& aggregate) {
    GPUJOIN_RETURN_IF_FAILED(fragment_has_at_most("An aggregate function",
                                                  static_cast<uint64_t>(aggregate.function),
                                                  static_cast<uint64_t>(AggregateFunction::Any)));
    if (aggregate.function == AggregateFunction::Any) {
        if (aggregate.filter != kNoNumber)
            return malformed_fragment("The filter of any value", aggregate.filter);
        return fragment_has_below("An input", aggregate.value, spec.inputs);
    }
    if (aggregate.filter != kNoNumber) {
        GPUJOIN_RETURN_IF_FAILED(fragment_has_below("A filter", aggregate.filter, spec.values));
        if (kind_of(spec.value[aggregate.filter]) != ValueKind::Truth)
            return malformed_fragment("A filter that gives a number", aggregate.filter);
    }
    if (aggregate.function == AggregateFunction::Count && aggregate.value == kNoNumber) return {};
    GPUJOIN_RETURN_IF_FAILED(fragment_has_below("A value", aggregate.value, spec.values));
    const bool is_number = kind_of(spec.value[aggregate.value]) != ValueKind::Truth;
    if (aggregate.function != AggregateFunction::Count && !is_number)
        return malformed_fragment("A value that is no number", aggregate.value);
    return {};
}

Status validate_sink(const FragmentView& fragment) {
    const FragmentSpec& spec = *fragment.spec;
    const auto stages = static_cast<uint32_t>(fragment.stages.size());
    ColumnSpec inputs[kMaxColumns];
    for (uint32_t i = 0; i < spec.inputs; i++) {
        GPUJOIN_RETURN_IF_FAILED(validate_ref(fragment, spec.input[i], stages));
        inputs[i] = column_of(fragment, spec.input[i]);
    }
    for (uint32_t i = 0; i < spec.keys; i++)
        GPUJOIN_RETURN_IF_FAILED(fragment_has_below("A key", spec.key[i], spec.inputs));
    ValueKind outcome;
    for (uint32_t i = 0; i < spec.values; i++)
        GPUJOIN_RETURN_IF_FAILED(validate_program(spec.value[i], {inputs, spec.inputs}, {}, &outcome));
    for (uint32_t i = 0; i < spec.aggregates; i++)
        GPUJOIN_RETURN_IF_FAILED(validate_aggregate(spec, spec.aggregate[i]));
    return {};
}

Status validate_top_key(const FragmentView& fragment) {
    const FragmentSpec& spec = *fragment.spec;
    if (spec.sink == SinkKind::Rows)
        return validate_ref(fragment, spec.top.key, static_cast<uint32_t>(fragment.stages.size()));
    if (!spec.completes_groups)
        return malformed_fragment("The number of groups that come first", spec.top.count);
    return fragment_has_below("The column that groups are sorted by", spec.top.key.column,
                              group_columns(spec));
}

Status validate_top(const FragmentView& fragment) {
    const TopSpec& top = fragment.spec->top;
    if (top.count == 0) return {};
    GPUJOIN_RETURN_IF_FAILED(fragment_has_at_most("The number of first rows", top.count, kMaxTopCount));
    GPUJOIN_RETURN_IF_FAILED(fragment_has_at_most("The is_descending flag", top.is_descending, 1));
    GPUJOIN_RETURN_IF_FAILED(fragment_has_at_most("The nulls_first flag", top.nulls_first, 1));
    GPUJOIN_RETURN_IF_FAILED(validate_top_key(fragment));
    const ColumnSpec key = top_key(fragment);
    return validate_columns({&key, 1});
}

}  // namespace

ColumnSpec top_key(const FragmentView& fragment) {
    const FragmentSpec& spec = *fragment.spec;
    ColumnSpec column = spec.sink == SinkKind::Rows ? column_of(fragment, spec.top.key)
                                                    : group_column(fragment, spec.top.key.column);
    column.order = spec.top.order;
    return column;
}

ColumnSpec column_of(const FragmentView& fragment, ColumnRef ref) {
    if (ref.origin == kFromSource) return fragment.spec->source[ref.column];
    return output_column(fragment.stages[ref.origin].join, ref.column);
}

ColumnSpec group_column(const FragmentView& fragment, uint32_t number) {
    const FragmentSpec& spec = *fragment.spec;
    if (number < spec.keys) return column_of(fragment, spec.input[spec.key[number]]);
    const AggregateSpec& aggregate = spec.aggregate[number - spec.keys];
    if (aggregate.function == AggregateFunction::Any) return column_of(fragment, spec.input[aggregate.value]);
    if (aggregate.function == AggregateFunction::Count) return {ColumnType::Fixed8, ValueOrder::Signed, 0, 0};
    if (kind_of(spec.value[aggregate.value]) == ValueKind::Float)
        return {ColumnType::Fixed8, ValueOrder::Float, 1, 0};
    const bool is_sum = aggregate.function == AggregateFunction::Sum;
    return {is_sum ? ColumnType::Fixed16 : ColumnType::Fixed8, ValueOrder::Signed, 1, 0};
}

Status validate(const FragmentView& fragment) {
    GPUJOIN_RETURN_IF_FAILED(validate_counts(fragment));
    const FragmentSpec& spec = *fragment.spec;
    GPUJOIN_RETURN_IF_FAILED(validate_columns({spec.source, spec.source_columns}));
    for (uint32_t i = 0; i < fragment.stages.size(); i++)
        GPUJOIN_RETURN_IF_FAILED(validate_stage(fragment, i));
    if (fragment.is_plain_join()) GPUJOIN_RETURN_IF_FAILED(validate_identity(fragment));
    GPUJOIN_RETURN_IF_FAILED(validate_sink(fragment));
    return validate_top(fragment);
}

}  // namespace gpujoin
