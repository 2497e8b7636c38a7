// Copying columns into the order of positions.
#include "engine/cpu/columns/clustered_columns.h"

#include <algorithm>

#include "engine/cpu/columns/gather.h"
#include "engine/cpu/index/sorted_rows.h"

namespace gpujoin::cpu {

namespace {

// All copies together take at most this much for each build row.
constexpr uint64_t kMostBytesPerRow = 16;
// A copy of n rows pays when at least n / kFewestProbes probe rows read it.
constexpr uint64_t kFewestProbes = 4;

// The build columns that a probe cursor reads.
std::vector<uint32_t> columns_read(const JoinSpec& spec, const Matcher& matcher) {
    std::vector<uint32_t> columns(spec.output, spec.output + spec.outputs);
    for (const Term& term : matcher.undecided) columns.push_back(term.build_column);
    for (uint32_t i = 0; i < spec.program.steps; i++) {
        const FilterStep& step = spec.program.step[i];
        if (has_source(step.opcode) && step.source == FilterSource::Build) columns.push_back(step.operand);
    }
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    return columns;
}

bool is_worth_it(const JoinContext& join, const Matcher& matcher, const std::vector<uint32_t>& columns) {
    const JoinSpec& spec = join.spec;
    if (!matcher.row_of_position() || columns.empty()) return false;
    if (spec.estimated_probe_rows > 0 && spec.estimated_probe_rows < join.build.rows() / kFewestProbes)
        return false;
    uint64_t bytes = 0;
    for (uint32_t column : columns) {
        if (spec.build[column].type == ColumnType::Bytes) return false;
        bytes += fixed_width(spec.build[column].type) + spec.build[column].nullable;
    }
    return bytes * matcher.positions <= kMostBytesPerRow * join.build.rows();
}

}  // namespace

Status ClusteredColumns::build(JoinContext& join, const Matcher& matcher) {
    std::vector<uint32_t> columns = columns_read(join.spec, matcher);
    if (!is_worth_it(join, matcher, columns)) return {};
    columns_.resize(join.spec.build_columns);
    for (uint32_t column : columns) {
        Status status = copy(join, matcher, column);
        if (status.ok()) continue;
        columns_.clear();
        return status.fault == Fault::HostMemory ? Status{} : status;
    }
    return {};
}

Status ClusteredColumns::copy(JoinContext& join, const Matcher& matcher, uint32_t number) {
    Column& column = columns_[number];
    const ColumnSource from = join.build.source(number);
    const uint64_t width = fixed_width(from.spec.type);
    Ledger* ledger = join.limits.host_memory;
    GPUJOIN_RETURN_IF_FAILED(column.values.allocate(ledger, matcher.positions * width));
    if (from.null_flags) GPUJOIN_RETURN_IF_FAILED(column.null_flags.allocate(ledger, matcher.positions));
    column.source = from;
    column.source.values = column.values.as<std::byte>();
    if (from.null_flags) column.source.null_flags = column.null_flags.as<uint8_t>();
    const uint32_t* rows = matcher.row_of_position();
    return for_blocks(join, matcher.positions, [&](uint64_t begin, uint64_t end) {
        gather_values(from, rows + begin, end - begin, false, column.values.as<std::byte>() + begin * width);
        if (!from.null_flags) return;
        for (uint64_t i = begin; i < end; i++) column.null_flags.as<uint8_t>()[i] = from.null_flags[rows[i]];
    });
}

}  // namespace gpujoin::cpu
