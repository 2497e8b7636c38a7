// The list of fragments' workloads.
#include "fragment_workload.h"

#include <algorithm>

#include "workload.h"

namespace gpujoin::bench {

namespace {

using enum AggregateFunction;

// Keys, by which groups are, and columns of values of 8 bytes.
FragmentWorkload aggregate_of(std::string id, std::string variant, uint64_t rows, uint64_t groups,
                              uint32_t values) {
    constexpr uint64_t kValues = 1u << 20;
    FragmentWorkload workload;
    workload.id = std::move(id);
    workload.variant = std::move(variant);
    workload.rows = rows;
    workload.has_key = true;
    workload.source.push_back({make_keys(Distribution::Uniform, groups, 1), Format::Int4});
    for (uint32_t i = 0; i < values; i++)
        workload.source.push_back({make_keys(Distribution::Uniform, kValues, 2 + i), Format::Int8});
    return workload;
}

// The sum of a column by groups of which there are few, or so many that they are scaled like rows: then a
// group has as many rows at every scale.
void add_sums(double scale, std::vector<FragmentWorkload>* list) {
    const uint64_t rows = scaled_rows(128, scale);
    auto add = [&](const std::string& name, uint64_t groups) -> FragmentWorkload& {
        list->push_back(aggregate_of("W15", "128M, " + name, rows, groups, 1));
        list->back().outputs = {{Sum, 1}};
        return list->back();
    };
    add("1 group", 1);
    add("4 groups", 4);
    add("1k groups", 1024);
    for (int millions : {1, 64}) {
        const std::string name = std::to_string(millions) + "M groups";
        const uint64_t groups = scaled_rows(millions, scale);
        add(name, groups);
        add(name + ", sparse", groups).source[0].keys.multiplier = kSparse;
    }
}

// A count, two sums, two minima, two maxima, and the count that makes an average of a sum.
void add_aggregates(double scale, std::vector<FragmentWorkload>* list) {
    list->push_back(aggregate_of("W16", "64M, 8 by 4 groups", scaled_rows(64, scale), 4, 2));
    list->back().outputs = {{Count, kNoInput}, {Sum, 1}, {Count, 1},   {Minimum, 1},
                            {Maximum, 1},      {Sum, 2}, {Minimum, 2}, {Maximum, 2}};
}

// Four dimensions with unique keys, all of which rows have. What rows find is given out, or added up so that
// there is one row to give out.
void add_chains(double scale, std::vector<FragmentWorkload>* list) {
    constexpr uint32_t kDimensions = 4;
    const uint64_t rows = scaled_rows(64, scale), dimension_rows = scaled_rows(1, scale);
    for (bool is_sparse : {false, true}) {
        for (bool has_groups : {true, false}) {
            FragmentWorkload& workload = list->emplace_back();
            workload.id = "W17";
            workload.variant = std::string("64M, 4 of 1M") + (is_sparse ? ", sparse" : "");
            workload.rows = rows;
            workload.has_groups = has_groups;
            for (uint32_t i = 0; i < kDimensions; i++) {
                Keys keys = make_keys(Distribution::Uniform, dimension_rows, 1 + i);
                Keys unique = make_keys(Distribution::Unique, dimension_rows, 11 + i);
                if (is_sparse) keys.multiplier = unique.multiplier = kSparse;
                workload.source.push_back({keys, Format::Int4});
                workload.dimensions.push_back({unique, dimension_rows});
                workload.outputs.push_back({Sum, i});
            }
        }
    }
}

}  // namespace

SinkShape FragmentWorkload::sink() const {
    SinkShape sink;
    sink.inputs = static_cast<uint32_t>(source.size());
    for (uint32_t i = 0; i < sink.inputs; i++)
        sink.input[i] = {source[i].keys, width_of(source[i].format), dimensions.empty() ? kNoDimension : i};
    sink.outputs = static_cast<uint32_t>(outputs.size());
    std::ranges::copy(outputs, sink.output);
    sink.has_groups = has_groups;
    sink.has_key = has_key;
    return sink;
}

const char* FragmentWorkload::name() const {
    if (dimensions.empty()) return "aggregate";
    return has_groups ? "chain to sums" : "chain to rows";
}

uint64_t FragmentWorkload::source_row_bytes() const {
    uint64_t bytes = 0;
    for (const SourceColumn& column : source) bytes += width_of(column.format);
    return bytes;
}

uint64_t FragmentWorkload::result_row_bytes() const {
    uint64_t bytes = has_key || !has_groups ? sizeof(uint32_t) : 0;
    for (const SinkOutput& output : outputs) bytes += width_of(*this, output);
    return bytes;
}

uint32_t width_of(const FragmentWorkload& workload, const SinkOutput& output) {
    if (!workload.has_groups) return sizeof(uint32_t);
    return output.function == Sum ? 16 : 8;
}

std::vector<FragmentWorkload> make_fragment_workloads(double scale) {
    std::vector<FragmentWorkload> list;
    add_sums(scale, &list);
    add_aggregates(scale, &list);
    add_chains(scale, &list);
    return list;
}

}  // namespace gpujoin::bench
