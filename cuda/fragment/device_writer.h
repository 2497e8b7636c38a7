// DeviceWriter: writes rows, whose columns lie anywhere in device memory, into a sink as results, cut where
// the sink is full.
#pragma once

#include <span>
#include <vector>

#include "cuda/fragment/gather_picked.h"
#include "engine/engine.h"
#include "engine/result_layout.h"

namespace gpujoin::cuda {

class DeviceWriter {
  public:
    // names_rows: results name source rows.
    DeviceWriter(std::vector<ResultColumn> columns, bool names_rows);

    // Writes rows from *first to `rows`, as many as fit, and moves *first behind them; complete on return. Of
    // a list of rows where there is one. Sets bytes_needed where not even one fits.
    Status write(const WorkContext& context, std::span<const PickedView> columns, const uint32_t* list,
                 const uint32_t* source_rows, uint32_t* first, uint32_t rows, const Sink& sink,
                 ResultBatch* result);

  private:
    struct WrittenRows {
        std::span<const PickedView> columns;
        RowChoice choice;
        const uint32_t* source_rows;
        uint64_t left;
    };

    Status write(const WorkContext& context, const WrittenRows& wanted, const Sink& sink, uint64_t budget,
                 ResultBatch* result);
    Status reserve_staging(const WorkContext& context, uint64_t bytes);
    Status measure(const WorkContext& context, std::span<const PickedView> columns, RowChoice choice,
                   uint64_t left, uint64_t budget, uint64_t* rows, uint64_t* needed);
    Status gather(const WorkContext& context, std::span<const PickedView> columns, RowChoice choice,
                  const ResultBatch& result, std::byte* target);

    const std::vector<ResultColumn> columns_;
    const ResultShape shape_;
    const bool names_rows_;
    DeviceArray<uint64_t> starts_;  // (measured_ + 1) for each Bytes column
    uint64_t measured_ = 0;
    std::vector<uint64_t> data_bytes_;  // by column: of the rows that fit
    DeviceArray<std::byte> staging_;
    std::vector<PickedTarget> targets_;
};

}  // namespace gpujoin::cuda
