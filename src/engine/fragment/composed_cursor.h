// The cursor of a composed fragment: a pipeline of the cursors of its stages. That of a stage writes rows
// into scratch memory, as many as it holds; these go through all later stages before it writes the next ones.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "engine/fragment/fragment_plan.h"
#include "engine/fragment/place.h"

namespace gpujoin {

// A stage at work, and the rows that its cursor wrote last. What these are of is known by numbers of rows in
// the batches of the origins (see LiveColumn). Those in the batch of the stage before come with the rows;
// those in earlier ones are composed where they are asked for.
struct Level {
    std::unique_ptr<Cursor> cursor;
    std::vector<PickedColumn> picked;  // the probe batch of the cursor, as it is found
    std::unique_ptr<Scratch> gathered;
    std::vector<ColumnView> probe;
    std::unique_ptr<Scratch> written;
    ResultBatch result;
    std::vector<ColumnView> columns;
    std::vector<const uint32_t*> rows_of;  // by origin, of those before this stage; nullptr: not asked for
    std::vector<std::unique_ptr<Scratch>> composed;
};

// What a cursor works with, used again by later cursors of the fragment.
struct Pipeline {
    std::unique_ptr<Workspace> workspace;
    std::vector<ColumnView> source;
    std::vector<Level> levels;  // by stage
    std::vector<PickedColumn> inputs;
};

// What cursors need of an open fragment, which outlives them.
struct OpenFragment {
    FragmentPlan plan;
    std::vector<std::unique_ptr<Join>> joins;
    const std::atomic<bool>* cancel;
    SinkCounters counters;
    std::unique_ptr<FragmentPlace> place;

    std::mutex mutex;  // of the pipelines that are free
    std::vector<std::unique_ptr<Pipeline>> free_pipelines;
};

Status make_composed_cursor(OpenFragment& fragment, const BatchView& source, std::unique_ptr<Cursor>* cursor);

}  // namespace gpujoin
