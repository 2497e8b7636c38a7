// RowConsumer: what becomes of the rows of a fragment's last stage: they are written for the client, or
// aggregated. Aggregator: the groups of a fragment, in as many tables as batches run at the same time, each
// of which is added to without looking at the others. So a group may be in several tables.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "engine/fragment.h"
#include "engine/fragment/fragment_plan.h"
#include "wire/batch.h"

namespace gpujoin {

// What the values of a sum of floats may amount to without their signs, so that no partial sum leaves the
// range of floats, which is PostgreSQL's to report. Rounding may add a little.
inline constexpr double kMostSummed = std::numeric_limits<double>::max() / 2;

// A column of which rows are picked by their numbers.
struct PickedColumn {
    ColumnSpec spec{};
    ColumnView column;
    const uint32_t* rows = nullptr;  // the i-th row is rows[i]; nullptr: i
};

// Of one batch at a time.
class RowConsumer {
  public:
    virtual ~RowConsumer() = default;

    // Starts a batch of the source, which has no rows of the last stage yet.
    virtual Status begin() = 0;

    // Takes the next rows of the last stage, once those before are done. What the columns, one for each input
    // of the sink, and source_rows point to stays until these are done, too. source_rows: ascending numbers
    // of the source rows that they come of.
    virtual Status start(std::span<const PickedColumn> inputs, const uint32_t* source_rows,
                         uint32_t rows) = 0;

    // Goes on with the rows, and writes what the client gets, as Cursor::next() does. Done: all these rows
    // are seen to. last: no rows follow, so that done means that the client has all it gets of the batch.
    virtual Status next(bool last, const Sink& sink, ResultBatch* result) = 0;

    // The batch is over, or given up.
    virtual void end() = 0;
};

class Aggregator {
  public:
    virtual ~Aggregator() = default;
    // Starts giving out what all tables hold, and clears them. While no batch runs.
    virtual Status flush(std::unique_ptr<Cursor>* cursor) = 0;
    // Forgets all groups. While no batch runs.
    virtual void clear() = 0;
    // Bytes charged for tables at most. Any thread at any time.
    virtual uint64_t peak_memory() const = 0;
};

// What a sink counts, from several threads at once.
struct SinkCounters {
    std::atomic<uint64_t> rows{0}, escaped_rows{0}, groups{0}, left_out{0}, ns{0};
};

}  // namespace gpujoin
