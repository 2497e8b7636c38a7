// Checking of join specs that come from the other side, and the names of their enums.
#include "wire/join_spec.h"

#include "wire/status.h"

namespace gpujoin {

namespace {

Status malformed_join(const char* part, uint64_t value) {
    return malformed("join specification", part, value);
}

Status join_has_at_most(const char* what, uint64_t value, uint64_t limit) {
    return value <= limit ? Status{} : malformed_join(what, value);
}

template <typename Enum>
Status in_enum(const char* what, Enum value, Enum last) {
    return join_has_at_most(what, static_cast<uint64_t>(value), static_cast<uint64_t>(last));
}

Status validate_terms(const JoinSpec& spec, std::span<const Term> terms, Comparison first, Comparison last) {
    for (const Term& term : terms) {
        if (term.comparison < first || term.comparison > last)
            return malformed_join("A term's comparison", static_cast<uint64_t>(term.comparison));
        if (term.probe_column >= spec.probe_columns)
            return malformed_join("A term's probe column", term.probe_column);
        if (term.build_column >= spec.build_columns)
            return malformed_join("A term's build column", term.build_column);
        const ColumnSpec& probe = spec.probe[term.probe_column];
        const ColumnSpec& build = spec.build[term.build_column];
        if (probe.type != build.type || probe.order != build.order)
            return malformed("join specification")
                .with_detail("Probe column %u and build column %u are compared but differ in type or order.",
                             term.probe_column, term.build_column);
        bool needs_order = term.comparison > Comparison::NotEqual;
        if (needs_order && probe.type == ColumnType::Bytes && probe.order != ValueOrder::Bytes)
            return malformed_join("The order of a column of bytes", static_cast<uint64_t>(probe.order));
    }
    return {};
}

Status validate_numbers(const char* what, std::span<const uint16_t> numbers, uint16_t columns) {
    for (uint16_t number : numbers)
        if (number >= columns) return malformed_join(what, number);
    return {};
}

Status validate_counts(const JoinSpec& spec) {
    GPUJOIN_RETURN_IF_FAILED(
        join_has_at_most("The number of probe columns", spec.probe_columns, kMaxColumns));
    GPUJOIN_RETURN_IF_FAILED(
        join_has_at_most("The number of build columns", spec.build_columns, kMaxColumns));
    GPUJOIN_RETURN_IF_FAILED(join_has_at_most("The number of equalities", spec.equalities, kMaxTerms));
    GPUJOIN_RETURN_IF_FAILED(join_has_at_most("The number of ranges", spec.ranges, kMaxTerms));
    GPUJOIN_RETURN_IF_FAILED(join_has_at_most("The number of filters", spec.filters, kMaxTerms));
    GPUJOIN_RETURN_IF_FAILED(join_has_at_most("The number of outputs", spec.outputs, kMaxColumns));
    GPUJOIN_RETURN_IF_FAILED(join_has_at_most("The number of carried columns", spec.carried, kMaxColumns));
    return join_has_at_most("The number of result columns", uint64_t{spec.outputs} + spec.carried,
                            kMaxColumns);
}

}  // namespace

Status validate_columns(std::span<const ColumnSpec> columns) {
    for (const ColumnSpec& column : columns) {
        GPUJOIN_RETURN_IF_FAILED(in_enum("A column's type", column.type, ColumnType::Bytes));
        GPUJOIN_RETURN_IF_FAILED(in_enum("A column's order", column.order, ValueOrder::Bytes));
        GPUJOIN_RETURN_IF_FAILED(join_has_at_most("A column's nullable flag", column.nullable, 1));
        uint32_t width = fixed_width(column.type);
        if (column.order == ValueOrder::Float && width != 4 && width != 8)
            return malformed_join("The width of a floating-point column", width);
    }
    return {};
}

Status validate(const JoinSpec& spec) {
    GPUJOIN_RETURN_IF_FAILED(in_enum("The join kind", spec.kind, JoinKind::RightAnti));
    GPUJOIN_RETURN_IF_FAILED(in_enum("The algorithm", spec.algorithm, Algorithm::NestedLoop));
    GPUJOIN_RETURN_IF_FAILED(in_enum("The result order", spec.order, ResultOrder::Any));
    GPUJOIN_RETURN_IF_FAILED(join_has_at_most("The names_probe_rows flag", spec.names_probe_rows, 1));
    GPUJOIN_RETURN_IF_FAILED(join_has_at_most("The client_decides flag", spec.client_decides, 1));
    if (spec.client_decides && (spec.order == ResultOrder::Any || !spec.names_probe_rows))
        return malformed("join specification")
            .with_detail("The client decides, but cannot tell the candidates of a probe row.");
    GPUJOIN_RETURN_IF_FAILED(validate_counts(spec));
    GPUJOIN_RETURN_IF_FAILED(validate_columns({spec.probe, spec.probe_columns}));
    GPUJOIN_RETURN_IF_FAILED(validate_columns({spec.build, spec.build_columns}));
    GPUJOIN_RETURN_IF_FAILED(
        validate_terms(spec, {spec.equality, spec.equalities}, Comparison::Equal, Comparison::Equal));
    GPUJOIN_RETURN_IF_FAILED(
        validate_terms(spec, {spec.range, spec.ranges}, Comparison::Less, Comparison::GreaterEqual));
    GPUJOIN_RETURN_IF_FAILED(
        validate_terms(spec, {spec.filter, spec.filters}, Comparison::NotEqual, Comparison::GreaterEqual));
    GPUJOIN_RETURN_IF_FAILED(
        validate_numbers("An output column", {spec.output, spec.outputs}, spec.build_columns));
    GPUJOIN_RETURN_IF_FAILED(
        validate_numbers("A carried column", {spec.carry, spec.carried}, spec.probe_columns));
    GPUJOIN_RETURN_IF_FAILED(
        validate_filter(spec.program, {spec.probe, spec.probe_columns}, {spec.build, spec.build_columns}));
    if (spec.kind != JoinKind::Inner && !spec.client_decides && may_be_undecided(spec.program))
        return malformed("filter program")
            .with_detail("Pairs may be undecided, but the client does not decide them.");
    return {};
}

const char* name_of(Algorithm algorithm) {
    switch (algorithm) {
        case Algorithm::Auto:
            return "auto";
        case Algorithm::Hash:
            return "hash";
        case Algorithm::SortMerge:
            return "sort_merge";
        case Algorithm::Index:
            return "index";
        case Algorithm::NestedLoop:
            return "nested_loop";
    }
    return "unknown";
}

const char* name_of(JoinKind kind) {
    switch (kind) {
        case JoinKind::Inner:
            return "Inner";
        case JoinKind::Left:
            return "Left";
        case JoinKind::Right:
            return "Right";
        case JoinKind::Full:
            return "Full";
        case JoinKind::Semi:
            return "Semi";
        case JoinKind::Anti:
            return "Anti";
        case JoinKind::RightSemi:
            return "Right Semi";
        case JoinKind::RightAnti:
            return "Right Anti";
    }
    return "unknown";
}

}  // namespace gpujoin
