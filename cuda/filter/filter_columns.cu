// Widening columns for filter programs.
#include "cuda/filter/filter_columns.h"

#include "cuda/work/launch.cuh"

namespace gpujoin::cuda {

namespace {

Status widen(const WorkContext& context, const DeviceColumn* column, uint64_t rows, uint64_t count,
             int64_t* values) {
    return for_each(context.handle(), count, [=] __device__(uint64_t row) {
        values[row] = row < rows ? filter_value(*column, row) : 0;
    });
}

// What lies beyond the last row is NULL.
Status collect_nulls(const WorkContext& context, const DeviceColumn* column, uint64_t rows, uint64_t words,
                     uint32_t* nulls) {
    return for_each(context.handle(), words, [=] __device__(uint64_t word) {
        uint32_t bits = 0;
        for (uint32_t i = 0; i < 32; i++) {
            uint64_t row = word * 32 + i;
            bits |= static_cast<uint32_t>(row >= rows || !column->is_valid(row)) << i;
        }
        nulls[word] = bits;
    });
}

}  // namespace

Status FilterColumns::make(const WorkContext& context, const FilterProgram& program, FilterSource side,
                           const DeviceColumn* columns, uint64_t rows) {
    std::vector<FilterColumn> made;
    for (uint32_t i = 0; i < program.steps; i++) {
        const FilterStep& step = program.step[i];
        if (!has_source(step.opcode) || step.source != side) continue;
        if (made.size() <= step.operand) made.resize(step.operand + 1);
        if (made[step.operand].values) continue;
        GPUJOIN_RETURN_IF_FAILED(make_column(context, columns + step.operand, rows, &made[step.operand]));
    }
    return upload_vector(context.upload(), made, &columns_);
}

Status FilterColumns::make_column(const WorkContext& context, const DeviceColumn* column, uint64_t rows,
                                  FilterColumn* made) {
    const uint64_t words = (rows + 31) / 32 + 1;  // one at least
    values_.emplace_back();
    nulls_.emplace_back();
    GPUJOIN_RETURN_IF_FAILED(values_.back().allocate(context.account, words * 32, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(nulls_.back().allocate(context.account, words, context.handle()));
    *made = {values_.back().data(), nulls_.back().data()};
    GPUJOIN_RETURN_IF_FAILED(widen(context, column, rows, words * 32, values_.back().data()));
    return collect_nulls(context, column, rows, words, nulls_.back().data());
}

}  // namespace gpujoin::cuda
