// QueueCursor: what both cursors share. A producer adds pairs to the queue; next() calls it until the sink is
// full.
#pragma once

#include <memory>

#include "engine/cpu/results/cursor.h"

namespace gpujoin::cpu {

class QueueCursor : public Cursor {
  public:
    ~QueueCursor() override;
    Status next(const Sink& sink, ResultBatch* result) final;

  protected:
    QueueCursor(SealedJoin& join, ResultWriter writer) : join_(join), writer_(std::move(writer)) {}

    // Takes scratch; before anything else.
    Status open();

    // Adds pairs to the queue, at most PairQueue::kMostPushed, perhaps none. Does a bounded amount of work.
    virtual Status produce() = 0;
    // produce() has nothing more to add.
    virtual bool exhausted() const = 0;
    // Whether one of the pairs so far may be undecided.
    virtual bool undecided() const { return false; }

    SealedJoin& join_;
    std::unique_ptr<CursorScratch> scratch_;

  private:
    Status fill(const Sink& sink, ResultBatch* result);

    ResultWriter writer_;
};

// What pairs name build rows by: positions, where columns are clustered by the matcher, or row numbers.
enum class BuildNumbers : uint8_t { OfMatcher, OfRows };

// The columns of results: build columns, then carried probe columns. batch == nullptr: a scan, which has no
// probe rows.
std::vector<OutputColumn> output_columns(const SealedJoin& join, const BatchView* batch,
                                         BuildNumbers numbers);

}  // namespace gpujoin::cpu
