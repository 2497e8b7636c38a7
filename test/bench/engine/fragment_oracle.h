// The oracle of fragments: how many rows or groups come out and their checksum, without joining or grouping.
// The checksum is the sum over all rows that come out of
//
//   weight * sum over their columns of (factor of the column * value)
//
// modulo 2^64, where the weight is that of the source row, or of the group's key. Counts and sums so
// contribute source row by source row; only extremes take memory by group.
#pragma once

#include "engine/host_device.h"
#include "oracle.h"
#include "wire/fragment_spec.h"

namespace gpujoin::bench {

inline constexpr uint32_t kMaxInputs = 4;
inline constexpr uint32_t kMaxOutputs = 8;
inline constexpr uint32_t kNoInput = UINT32_MAX;
inline constexpr uint32_t kNoDimension = UINT32_MAX;

// What a dimension has for the key with this index.
GPUJOIN_HD inline uint32_t attribute(uint32_t dimension, uint64_t index) {
    constexpr uint64_t kAttributes = 1u << 20;
    return static_cast<uint32_t>(mix(index ^ (uint64_t{dimension} + 1) << 40) % kAttributes);
}

// Writes one row of a dimension's column.
struct FillAttribute {
    Keys keys;
    uint32_t dimension;
    std::byte* column;
    GPUJOIN_HD void operator()(uint64_t row) const {
        reinterpret_cast<uint32_t*>(column)[row] = attribute(dimension, keys.base(row));
    }
};

// A column that the sink reads: keys of the source, or what a dimension has for these. All rows match.
struct SinkInput {
    Keys keys;
    uint32_t width = 4;
    uint32_t dimension = kNoDimension;

    // Of a source row; and by the index of its key.
    GPUJOIN_HD uint64_t value(uint64_t row) const { return value_of_index(keys.base(row)); }
    GPUJOIN_HD uint64_t value_of_index(uint64_t index) const {
        if (dimension != kNoDimension) return attribute(dimension, index);
        const uint64_t value = index * keys.multiplier;
        return width == 4 ? static_cast<uint32_t>(value) : value;
    }
};

// A column that comes out behind the row's number or the group's key: an aggregate, or, of rows, an input,
// which counts as the sum of one value.
struct SinkOutput {
    AggregateFunction function = AggregateFunction::Sum;
    uint32_t input = kNoInput;  // Count: of all rows

    GPUJOIN_HD bool is_extreme() const {
        return function == AggregateFunction::Minimum || function == AggregateFunction::Maximum;
    }
};

GPUJOIN_HD inline uint64_t factor_of(uint32_t output) {
    return mix(output) | 1;
}

// What a sink reads and gives.
struct SinkShape {
    SinkInput input[kMaxInputs];
    uint32_t inputs = 0;
    SinkOutput output[kMaxOutputs];
    uint32_t outputs = 0;
    bool has_groups = false;
    bool has_key = false;  // groups are by the first input; else all rows are of one

    GPUJOIN_HD uint64_t groups() const { return has_key ? input[0].keys.domain : 1; }
    GPUJOIN_HD uint64_t group_of(uint64_t row) const { return has_key ? input[0].keys.base(row) : 0; }
    GPUJOIN_HD uint64_t weight_of_group(uint64_t group) const {
        return has_key ? build_weight(input[0].value_of_index(group)) : 1;
    }
};

// What a source row contributes, without extremes.
struct SourceContribution {
    SinkShape sink;
    GPUJOIN_HD Check operator()(uint64_t row) const {
        uint64_t sum = 0;
        for (uint32_t i = 0; i < sink.outputs; i++) {
            const SinkOutput& output = sink.output[i];
            if (output.is_extreme()) continue;
            const bool counts = output.function == AggregateFunction::Count;
            sum += factor_of(i) * (counts ? 1 : sink.input[output.input].value(row));
        }
        if (!sink.has_groups) return {1, probe_weight(row) * sum};
        return {0, sink.weight_of_group(sink.group_of(row)) * sum};
    }
};

// Most rows change nothing, and look before they write.
GPUJOIN_HD inline void lower_atomically(uint64_t* target, uint64_t value) {
#ifdef __CUDA_ARCH__
    if (*static_cast<volatile uint64_t*>(target) > value)
        atomicMin(reinterpret_cast<unsigned long long*>(target), static_cast<unsigned long long>(value));
#else
    uint64_t seen = __atomic_load_n(target, __ATOMIC_RELAXED);
    while (seen > value &&
           !__atomic_compare_exchange_n(target, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
#endif
}

// The least value of an input in a group, and the complement of the greatest. No value is UINT64_MAX.
struct Extremes {
    uint64_t least;
    uint64_t flipped_greatest;
    GPUJOIN_HD bool has_values() const { return least != UINT64_MAX; }
};

// Extremes by group and input: of all inputs, or of the first alone where none is asked for, which say what
// groups there are.
struct ExtremesByGroup {
    Extremes* memory;
    uint32_t inputs;

    static uint32_t inputs_of(const SinkShape& sink) {
        for (uint32_t i = 0; i < sink.outputs; i++)
            if (sink.output[i].is_extreme()) return sink.inputs;
        return 1;
    }
    GPUJOIN_HD Extremes& at(uint64_t group, uint32_t input) const { return memory[group * inputs + input]; }
};

struct ClearExtremes {
    Extremes* memory;
    GPUJOIN_HD void operator()(uint64_t i) const { memory[i] = {UINT64_MAX, UINT64_MAX}; }
};

struct NoteExtremes {
    SinkShape sink;
    ExtremesByGroup extremes;
    GPUJOIN_HD void operator()(uint64_t row) const {
        const uint64_t group = sink.group_of(row);
        for (uint32_t i = 0; i < extremes.inputs; i++) {
            const uint64_t value = sink.input[i].value(row);
            lower_atomically(&extremes.at(group, i).least, value);
            lower_atomically(&extremes.at(group, i).flipped_greatest, ~value);
        }
    }
};

// What a group contributes beside its source rows: itself, and extremes.
struct GroupContribution {
    SinkShape sink;
    ExtremesByGroup extremes;
    GPUJOIN_HD Check operator()(uint64_t group) const {
        if (!extremes.at(group, 0).has_values()) return {};
        uint64_t sum = 0;
        for (uint32_t i = 0; i < sink.outputs; i++) {
            const SinkOutput& output = sink.output[i];
            if (!output.is_extreme()) continue;
            const Extremes& found = extremes.at(group, output.input);
            const bool is_least = output.function == AggregateFunction::Minimum;
            sum += factor_of(i) * (is_least ? found.least : ~found.flipped_greatest);
        }
        return {1, sink.weight_of_group(group) * sum};
    }
};

// A row that came out, as the engine wrote it. Of sums, which have 16 bytes, the lower ones count.
struct SinkRow {
    const std::byte* source_rows = nullptr;  // their numbers, from the first row of the batch on
    const std::byte* keys = nullptr;         // of groups; neither: all rows were of one group
    uint64_t first_source_row = 0;
    const std::byte* column[kMaxOutputs] = {};
    uint32_t width[kMaxOutputs] = {};
    uint32_t outputs = 0;

    GPUJOIN_HD Check operator()(uint64_t row) const {
        uint64_t sum = 0;
        for (uint32_t i = 0; i < outputs; i++)
            sum += factor_of(i) * (width[i] == 16 ? ResultRow::load(column[i], 8, 2 * row)
                                                  : ResultRow::load(column[i], width[i], row));
        return {1, weight(row) * sum};
    }

  private:
    GPUJOIN_HD uint64_t weight(uint64_t row) const {
        if (source_rows) return probe_weight(first_source_row + ResultRow::load(source_rows, 4, row));
        return keys ? build_weight(ResultRow::load(keys, 4, row)) : 1;
    }
};

}  // namespace gpujoin::bench
