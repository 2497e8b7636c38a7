// Running the programs of a sink.
#include "engine/fragment/sink_programs.h"

#include "engine/cpu/filter/operand_reader.h"
#include "engine/cpu/work/simd.h"
#include "engine/filter_machine.h"

// What is inlined into the functions for several instruction sets is to be optimised like them.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

namespace gpujoin {

namespace {

// Rows as the probe side of pairs.
struct RowsAsPairs {
    static constexpr uint32_t kLanes = RowBlock::kMostLanes;
    static constexpr bool kOneProbeRow = false;
    using Mask = uint64_t;

    const HostColumn* columns;
    uint32_t first;
    uint32_t lanes;

    GPUJOIN_INLINE Mask fetch(FilterSource, uint16_t number, int64_t* values) const {
        const HostColumn& column = columns[number];
        if (column.rows) {
            auto row = [list = column.rows + first](uint64_t i) { return list[i]; };
            cpu::read_column(column.source, lanes, row, values);
            return cpu::read_nulls(column.source, lanes, row);
        }
        auto row = [this](uint64_t i) { return first + i; };
        cpu::read_column(column.source, lanes, row, values);
        return cpu::read_nulls(column.source, lanes, row);
    }
};

GPUJOIN_VECTOR void run_for_numbers(const FilterProgram& program, const RowsAsPairs& rows,
                                    BlockValues* values) {
    FilterMachine<RowsAsPairs> machine;
    machine.run_for_number(program, rows, values);
}

GPUJOIN_VECTOR void run_for_truth(const FilterProgram& program, const RowsAsPairs& rows,
                                  BlockValues* values) {
    FilterMachine<RowsAsPairs> machine;
    const auto truths = machine.run_for_truth(program, rows);
    values->truth = truths.truth;
    values->null = truths.null;
    values->undecided = truths.undecided;
}

}  // namespace

SinkPrograms::SinkPrograms(const SinkPlan& plan) : plan_(plan), values_(plan.values.size()) {
    for (const FilterProgram& program : plan.values) {
        is_truth_.push_back(kind_of(program) == ValueKind::Truth);
        may_escape_ |= may_be_undecided(program);
    }
}

uint64_t SinkPrograms::run(const RowBlock& block) {
    const RowsAsPairs rows{block.columns.data(), block.first, block.lanes};
    for (size_t i = 0; i < values_.size(); i++)
        is_truth_[i] ? run_for_truth(plan_.values[i], rows, &values_[i])
                     : run_for_numbers(plan_.values[i], rows, &values_[i]);
    if (!may_escape_) return 0;
    uint64_t escaped = 0;
    for (const AggregateSpec& aggregate : plan_.aggregates) {
        if (aggregate.filter != kNoNumber) escaped |= values_[aggregate.filter].undecided;
        // An input is never undecided.
        if (aggregate.function != AggregateFunction::Any && aggregate.value != kNoNumber)
            escaped |= values_[aggregate.value].undecided & passed(aggregate);
    }
    return escaped & block.all();
}

}  // namespace gpujoin
