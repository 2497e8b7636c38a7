// FragmentPlace: where the rows between the stages of a composed fragment lie, and all that is done with
// them there: host memory, or that of a device. The joins' cursors write into its scratch memory, which the
// next stage reads as its probe batch. Of rows that go on only their numbers do, in the batches that they
// come of; what is read of them is gathered by these numbers, once, where it is read.
//
// Pointers to rows, columns and scratch are the place's own, which only the place follows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/fragment/aggregator.h"

namespace gpujoin {

// Memory of a place.
class Scratch {
  public:
    virtual ~Scratch() = default;
    // Makes room for so many bytes. What was there is lost where there was less.
    virtual Status reserve(uint64_t bytes) = 0;

    std::byte* data() const { return data_; }  // at a multiple of kBufferAlignment
    uint64_t bytes() const { return bytes_; }

  protected:
    std::byte* data_ = nullptr;
    uint64_t bytes_ = 0;
};

// The rows of a piece that pass several stages, which are probed in one pass: what they are of, and the
// columns that these stages put out.
struct FusedRows {
    uint32_t rows = 0;
    // By origin (LiveColumn): the row of the source, ascending, and the row in the columns of each stage;
    // nullptr: these have just the rows that pass.
    std::vector<const uint32_t*> rows_of;
    std::vector<std::span<ColumnView>> columns;  // by stage; those that are read behind them are filled
};

// What is done for one batch on its way. Used by one thread at a time, for one batch after the other. Calls
// may return before their work on a device is over, if what follows waits for it.
class Workspace {
  public:
    virtual ~Workspace() = default;

    virtual Status make_scratch(std::unique_ptr<Scratch>* scratch) = 0;

    // About how many bytes a stage's cursor works with on so many rows.
    virtual uint64_t cursor_bytes(uint64_t rows) const = 0;

    // Brings these columns of a source batch into the place; views has one for each column of the source, of
    // which the others are left as they are. They stay until the next batch.
    virtual Status take(const BatchView& source, std::span<const LiveColumn> columns,
                        std::span<ColumnView> views) = 0;

    // Makes ready to probe the first stages, as many as that, in one pass with pieces of this batch: no more
    // than can be fused. What it takes for all pieces it takes now.
    virtual Status start_fused(uint32_t stages, std::span<const ColumnView> source, uint64_t source_rows);

    // Probes them with rows [first, first + rows) of the batch. What is found stays until the next piece.
    virtual Status probe_fused(uint64_t first, uint64_t rows, FusedRows* passed);

    // Gives back all that these took.
    virtual void end_fused() {}

    // to[i] = rows[through[i]]
    virtual Status compose(const uint32_t* rows, const uint32_t* through, uint32_t count, uint32_t* to) = 0;

    // Lays the values of so many picked rows side by side. The views point into scratch; those of columns of
    // which all rows are picked are these columns themselves.
    virtual Status gather(std::span<const PickedColumn> columns, uint64_t rows, Scratch* scratch,
                          std::span<ColumnView> views) = 0;

    // Finds which of so many rows can be among the first ones by their key, and adds some of them that make
    // the bound as low as these can: list, with room for all, has their ascending numbers. Where memory is
    // short all of them can be.
    virtual Status select_top(const PickedColumn& key, const TopOrder& order, uint32_t rows, TopKeys& keys,
                              uint32_t* list, uint32_t* selected) = 0;

    // Where the rows of the last stage go. Kept for all batches of this workspace.
    virtual RowConsumer& consumer() = 0;
};

inline Status Workspace::start_fused(uint32_t, std::span<const ColumnView>, uint64_t) {
    return failure(Fault::Error, "XX000", "stages are not fused here");
}
inline Status Workspace::probe_fused(uint64_t, uint64_t, FusedRows*) {
    return failure(Fault::Error, "XX000", "stages are not fused here");
}

class FragmentPlace {
  public:
    virtual ~FragmentPlace() = default;

    // Of scratch memory and the views on it.
    virtual Memory memory() const = 0;

    // How many rows of a stage there should be room for at a time, in a batch of so many source rows.
    virtual uint64_t rows_between_stages(uint64_t source_rows) const = 0;
    // The same of a source of which all stages are fused.
    virtual uint64_t rows_of_piece(uint64_t source_rows) const { return rows_between_stages(source_rows); }

    // Once, before all else. Plan, joins and counters outlive the place; the joins are the engine's that it
    // is the place of.
    virtual Status open(const FragmentPlan& plan, std::span<const std::unique_ptr<Join>> joins,
                        SinkCounters* counters) = 0;

    // How many stages, from the first one on, workspaces probe in one pass. Once all are sealed.
    virtual uint32_t fused_stages() const { return 0; }

    // For one more batch at the same time. Any thread, several at once.
    virtual Status make_workspace(std::unique_ptr<Workspace>* workspace) = 0;

    // The groups; nullptr where rows go to the client.
    virtual Aggregator* aggregator() = 0;
};

// The fragment that open_composed_fragment() opens, in a place of the caller's. What an engine whose joins
// read and write that place's memory gives for its own.
Status open_fragment_in(Engine& engine, std::unique_ptr<FragmentPlace> place, const FragmentView& fragment,
                        const Limits& limits, std::unique_ptr<Fragment>* opened);

}  // namespace gpujoin
