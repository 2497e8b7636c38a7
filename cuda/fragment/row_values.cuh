// What a thread knows of the values of its rows where groups are added to in one pass (one_pass.h): all that
// programs give, worked out first, or columns as they are, which are loaded as they are added.
#pragma once

#include <cstdint>

#include "cuda/fragment/sink_rows.cuh"
#include "cuda/fragment/sink_values.h"
#include "cuda/fragment/total_view.cuh"

namespace gpujoin::cuda {

// Both have, for kRows rows, which are numbered as inputs are and have a bit each:
// total(number): an aggregate. find_escaped(numbers, totals, &of_rows): which rows escape, and what has to be
// known of all values. find(number, numbers, of_rows, to): which rows an aggregate is of, and their values.

// Any programs. Pointers are device memory, not owned.
template <uint32_t kRows>
struct ProgramValues {
    static constexpr uint32_t kMostPrograms = 16;

    const PickedView* inputs;
    const FilterProgram* programs;
    const uint8_t* is_truth;
    uint32_t program_count;
    bool may_escape;
    const TotalView* totals;

    // By program what it gives.
    struct OfRows {
        int64_t numbers[kMostPrograms][kRows];
        uint32_t truths[kMostPrograms];
        uint32_t nulls[kMostPrograms];
        uint32_t undecided[kMostPrograms];

        // As those of all rows (SinkValuesView).
        __device__ uint32_t fails(uint16_t program, uint64_t) const { return undecided[program]; }
        __device__ uint32_t passed(const AggregateSpec& aggregate, uint64_t) const {
            return aggregate.filter == kNoNumber ? ~0u : truths[aggregate.filter];
        }
    };

    __device__ const TotalView& total(uint32_t number) const { return totals[number]; }

    __device__ uint32_t find_escaped(const uint64_t (&numbers)[kRows], uint32_t total_count,
                                     OfRows* values) const {
        SinkRows<kRows> rows{inputs, {}};
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++) rows.numbers[i] = numbers[i];
        for (uint32_t i = 0; i < program_count; i++) run(i, rows, values);
        if (!may_escape) return 0;
        uint32_t escaped = 0;
        for (uint32_t i = 0; i < total_count; i++) escaped |= escaped_by(total(i).spec, *values, 0);
        return escaped;
    }

    __device__ uint32_t find(uint32_t number, const uint64_t (&)[kRows], const OfRows& values,
                             int64_t (&to)[kRows]) const {
        const AggregateSpec& spec = total(number).spec;
        const bool has_value = spec.value != kNoNumber;
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++) to[i] = has_value ? values.numbers[spec.value][i] : 0;
        return values.passed(spec, 0) & (has_value ? ~values.nulls[spec.value] : ~0u);
    }

  private:
    __device__ void run(uint32_t number, const SinkRows<kRows>& rows, OfRows* values) const {
        const FilterProgram& program = programs[number];
        FilterMachine<SinkRows<kRows>> machine;
        if (is_column(program)) {
            int64_t loaded[kRows];
            values->nulls[number] = rows.fetch(FilterSource::Probe, program.step[0].operand, loaded);
            values->undecided[number] = 0;
            GPUJOIN_UNROLL
            for (uint32_t i = 0; i < kRows; i++) values->numbers[number][i] = loaded[i];
        } else if (is_truth[number]) {
            const auto found = machine.run_for_truth(program, rows);
            values->truths[number] = found.truth;
            values->nulls[number] = found.null;
            values->undecided[number] = found.undecided;
        } else {
            typename FilterMachine<SinkRows<kRows>>::Numbers found;
            machine.run_for_number(program, rows, &found);
            GPUJOIN_UNROLL
            for (uint32_t i = 0; i < kRows; i++) values->numbers[number][i] = found.value[i];
            values->nulls[number] = found.null;
            values->undecided[number] = found.undecided;
        }
    }
};

// Few totals without filters, each of a column as it is or of rows: no row escapes. What there is to know of
// them goes with the kernel's parameters.
template <uint32_t kRows>
struct ColumnValues {
    static constexpr uint32_t kMostTotals = 8;

    TotalView totals[kMostTotals];
    PickedView columns[kMostTotals];  // by total

    struct OfRows {};

    __device__ const TotalView& total(uint32_t number) const { return totals[number]; }
    __device__ uint32_t find_escaped(const uint64_t (&)[kRows], uint32_t, OfRows*) const { return 0; }
    __device__ uint32_t find(uint32_t number, const uint64_t (&numbers)[kRows], const OfRows&,
                             int64_t (&to)[kRows]) const {
        if (totals[number].spec.value != kNoNumber) return ~fetch_values(columns[number], numbers, to);
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++) to[i] = 0;
        return ~0u;
    }
};

}  // namespace gpujoin::cuda
