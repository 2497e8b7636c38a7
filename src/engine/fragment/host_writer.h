// HostWriter: writes rows of picked columns into the client's sink, as many as fit.
#pragma once

#include <vector>

#include "engine/fragment/host_column.h"
#include "engine/result_layout.h"

namespace gpujoin {

class HostWriter {
  public:
    // names_rows: results begin with the numbers of source rows.
    HostWriter(std::vector<ResultColumn> columns, bool names_rows);

    // Writes rows [*first, rows), as many as fit, and sets *first behind them; or says what the next one
    // needs.
    void write(std::span<const HostColumn> columns, const uint32_t* source_rows, uint32_t* first,
               uint32_t rows, const Sink& sink, ResultBatch* result);

  private:
    void measure(std::span<const HostColumn> columns, uint32_t first, uint64_t rows);
    uint64_t data_bytes(const HostColumn& column, size_t number, uint32_t first, uint64_t rows) const;

    const std::vector<ResultColumn> columns_;
    const ResultShape shape_;
    const bool names_rows_;
    // Of columns of values of any length: how long those of the first n rows are together.
    std::vector<std::vector<uint64_t>> lengths_;
};

}  // namespace gpujoin
