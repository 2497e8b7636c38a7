// ResultWriter: gathers the columns of result rows into a sink, as many rows as fit.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/cpu/columns/column_source.h"
#include "engine/cpu/results/pair_queue.h"
#include "engine/result_layout.h"
#include "engine/row_numbers.h"

namespace gpujoin::cpu {

// A column of results: where its values come from, by which row number.
struct OutputColumn {
    ColumnSource source;
    bool from_probe;
    bool may_lack_row;  // some results have no row on this side: their values are NULL
    ResultColumn shape;
};

class ResultWriter {
  public:
    // build_rows: how results name build rows; nullptr: not at all. row_of_number: the build rows that the
    // queue's numbers stand for; nullptr: the numbers themselves.
    ResultWriter(std::vector<OutputColumn> columns, bool probe_rows, const RowNumbers* build_rows,
                 const uint32_t* row_of_number);

    // Starts a result in a sink of so many bytes.
    void start(uint64_t sink_bytes);

    // Looks at the queue's pairs beyond those taken before and takes those that fit too. False: the sink is
    // full.
    bool take(const PairQueue& queue);

    // Writes the pairs taken, which stay in the queue.
    void write(const PairQueue& queue, std::byte* sink, ResultBatch* result);

    uint64_t taken() const { return taken_; }

    // Bytes of a result with the queue's first pair alone.
    uint64_t bytes_of_first(const PairQueue& queue) const;

  private:
    uint64_t build_row(uint32_t number) const;
    void add_lengths(const PairQueue& queue, uint64_t first, uint32_t rows, uint64_t* lengths) const;
    bool fits(uint64_t rows, uint64_t data) const;

    const std::vector<OutputColumn> columns_;
    const bool probe_rows_;
    const RowNumbers* const build_rows_;
    const uint32_t* const row_of_number_;
    std::vector<ResultColumn> shapes_;
    ResultShape shape_;
    uint64_t sink_bytes_ = 0;
    uint64_t most_ = 0;   // rows, by their fixed buffers
    uint64_t taken_ = 0;  // rows
    uint64_t data_ = 0;   // bytes of data in all columns of the rows taken
};

}  // namespace gpujoin::cpu
