// Pipeline: what a cursor of a composed fragment works with on one batch after the other: the cursors of the
// stages, and the memory that their rows lie in on their way. How many rows go at a time follows from it.
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

// Of the rows of the last level those that can be among the first ones.
struct TopLevel {
    std::unique_ptr<TopKeys> keys;  // nullptr: all rows are wanted
    std::unique_ptr<Scratch> list;
    std::vector<std::unique_ptr<Scratch>> composed;  // by origin
    std::vector<const uint32_t*> rows_of;            // by origin; nullptr: not asked for
};

struct Pipeline {
    std::unique_ptr<Workspace> workspace;
    std::vector<ColumnView> source;
    std::vector<Level> levels;  // by stage
    FusedRows fused;
    TopLevel top;
    std::vector<PickedColumn> inputs;
    // When its memory was last set aside:
    uint32_t fused_stages = 0;
    uint64_t wanted_rows = 0;  // between stages
    uint64_t rows = 0;         // for which there was memory
};

// Sets memory aside for a pipeline whose consumer has begun: so that its stages can write up to that many
// rows at a time, with room for what is made of these on their way; fewer, down to some hundred, where there
// is less memory. Fused stages take theirs when they are probed: it is left to them. 53200 where there is not
// enough either.
Status reserve(const FragmentPlan& plan, uint32_t fused_stages, uint64_t wanted_rows, Pipeline& pipeline);

// Pipelines that wait for the next batch. Any thread, several at once.
class Pipelines {
  public:
    // The bound outlives the pipelines.
    Status take(const FragmentPlan& plan, FragmentPlace& place, TopBound* bound,
                std::unique_ptr<Pipeline>* pipeline);
    // Of no cursor any more.
    void give_back(std::unique_ptr<Pipeline> pipeline);

  private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<Pipeline>> free_;
};

}  // namespace gpujoin
