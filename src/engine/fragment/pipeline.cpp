// Setting memory aside for the rows between stages: for all of a pipeline or, where it is too much, less.
#include "engine/fragment/pipeline.h"

#include <algorithm>

#include "engine/result_layout.h"

namespace gpujoin {

namespace {

constexpr uint64_t kFewestRows = 256;   // that memory is set aside for
constexpr uint64_t kBytesOfValue = 32;  // set aside for each value of any length
constexpr size_t kMostFree = 64;        // pipelines

// Of columns that lie side by side.
uint64_t bytes_of(const std::vector<ResultColumn>& columns, uint64_t rows, bool names_rows) {
    const ResultShape shape = make_result_shape(columns, names_rows, false);
    return result_bytes(shape, rows) + shape.bytes_columns * align_to_buffer(rows * kBytesOfValue);
}

uint64_t written_bytes(const StagePlan& stage, uint64_t rows) {
    std::vector<ResultColumn> columns;
    for (const ColumnSpec& column : stage.columns) columns.push_back({column.type, column.nullable != 0});
    return bytes_of(columns, rows, true);
}

// What a stage takes that is fused with others: the numbers of its rows, twice, and its columns where they
// are written.
uint64_t fused_bytes(const StagePlan& stage, uint64_t rows) {
    return written_bytes(stage, rows) + 2 * align_to_buffer(rows * sizeof(uint32_t));
}

// Of what a stage reads, that which the stage before has not just written; fused stages may have written
// nothing.
uint64_t gathered_bytes(const FragmentPlan& plan, uint32_t fused_stages, uint32_t stage, uint64_t rows) {
    const bool has_written = fused_stages == 0 || stage != fused_stages;
    std::vector<ResultColumn> columns;
    for (const LiveColumn& column : plan.stages[stage].probe)
        if (column.origin != stage || !has_written)
            columns.push_back({column.spec.type, column.spec.nullable != 0});
    return bytes_of(columns, rows, false);
}

// The last level at which rows of an origin are named: by what a stage or the sink reads.
std::vector<uint32_t> last_levels(const FragmentPlan& plan) {
    const auto stages = static_cast<uint32_t>(plan.stages.size());
    std::vector<uint32_t> last(stages + 1, 0);
    auto name = [&](uint32_t origin, uint32_t level) { last[origin] = std::max(last[origin], level); };
    for (uint32_t i = 0; i < stages; i++)
        for (const LiveColumn& column : plan.stages[i].probe) name(column.origin, i);
    for (const LiveColumn& column : plan.sink.inputs) name(column.origin, stages);
    if (plan.sink.kind == SinkKind::Rows) name(0, stages);
    if (has_top_rows(plan.sink)) name(plan.sink.top.key.origin, stages);
    return last;
}

// Numbers of rows are composed at each level between their origin and the last one that names them. Those of
// fused stages and the source are known behind the last of these, and composed from there on.
Status reserve_composed(const FragmentPlan& plan, uint32_t fused_stages, uint64_t rows, Pipeline& pipeline) {
    const std::vector<uint32_t> last = last_levels(plan);
    for (uint32_t origin = 0; origin < plan.stages.size(); origin++) {
        const uint32_t first = fused_stages > 0 && origin <= fused_stages ? fused_stages + 1 : origin + 2;
        for (uint32_t level = first; level <= last[origin]; level++) {
            std::unique_ptr<Scratch>& composed = pipeline.levels[level - 1].composed[origin];
            GPUJOIN_RETURN_IF_FAILED(pipeline.workspace->make_scratch(&composed));
            GPUJOIN_RETURN_IF_FAILED(composed->reserve(rows * sizeof(uint32_t)));
        }
    }
    return {};
}

// Leaves as much again, and some for each stage, to what cannot be known: what cursors work with, and values
// of any length beyond what is set aside for them.
Status leave_room(uint64_t bytes, uint64_t cursors, uint64_t rows, Pipeline& pipeline) {
    std::unique_ptr<Scratch> spare;
    GPUJOIN_RETURN_IF_FAILED(pipeline.workspace->make_scratch(&spare));
    return spare->reserve(bytes + cursors * pipeline.workspace->cursor_bytes(rows));
}

// All or nothing of use.
Status reserve_rows(const FragmentPlan& plan, uint32_t fused_stages, uint64_t rows, Pipeline& pipeline) {
    const auto stages = static_cast<uint32_t>(plan.stages.size());
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < fused_stages; i++) bytes += 2 * fused_bytes(plan.stages[i], rows);
    for (uint32_t i = fused_stages; i < stages; i++) {
        Level& level = pipeline.levels[i];
        GPUJOIN_RETURN_IF_FAILED(level.written->reserve(written_bytes(plan.stages[i], rows)));
        GPUJOIN_RETURN_IF_FAILED(level.gathered->reserve(gathered_bytes(plan, fused_stages, i, rows)));
        bytes += level.written->bytes() + level.gathered->bytes();
    }
    GPUJOIN_RETURN_IF_FAILED(reserve_composed(plan, fused_stages, rows, pipeline));
    return rows > kFewestRows ? leave_room(bytes, stages - fused_stages, rows, pipeline) : Status{};
}

Status make_scratch(Pipeline& pipeline) {
    for (Level& level : pipeline.levels) {
        GPUJOIN_RETURN_IF_FAILED(pipeline.workspace->make_scratch(&level.gathered));
        GPUJOIN_RETURN_IF_FAILED(pipeline.workspace->make_scratch(&level.written));
        for (std::unique_ptr<Scratch>& composed : level.composed) composed.reset();
    }
    if (!pipeline.top.keys) return {};
    for (std::unique_ptr<Scratch>& composed : pipeline.top.composed)
        GPUJOIN_RETURN_IF_FAILED(pipeline.workspace->make_scratch(&composed));
    return pipeline.workspace->make_scratch(&pipeline.top.list);
}

Status make_pipeline(const FragmentPlan& plan, FragmentPlace& place, TopBound* bound,
                     std::unique_ptr<Pipeline>* pipeline) {
    auto made = std::make_unique<Pipeline>();
    GPUJOIN_RETURN_IF_FAILED(place.make_workspace(&made->workspace));
    made->source.resize(plan.source_columns);
    made->levels.resize(plan.stages.size());
    made->inputs.resize(plan.sink.inputs.size());
    for (size_t i = 0; i < plan.stages.size(); i++) {
        Level& level = made->levels[i];
        level.picked.resize(plan.stages[i].probe.size());
        level.probe.resize(plan.stages[i].probe.size());
        level.columns.resize(plan.stages[i].columns.size());
        level.rows_of.resize(i + 1);
        level.composed.resize(i + 1);
    }
    if (has_top_rows(plan.sink)) {
        made->top.keys = std::make_unique<TopKeys>(plan.sink.top.count, bound);
        made->top.composed.resize(plan.stages.size() + 1);
        made->top.rows_of.resize(plan.stages.size() + 1);
    }
    GPUJOIN_RETURN_IF_FAILED(make_scratch(*made));
    *pipeline = std::move(made);
    return {};
}

}  // namespace

// Later batches keep to what the first one got.
Status reserve(const FragmentPlan& plan, uint32_t fused_stages, uint64_t wanted_rows, Pipeline& pipeline) {
    if (wanted_rows <= pipeline.wanted_rows && fused_stages >= pipeline.fused_stages) return {};
    Status status;
    for (uint64_t rows = wanted_rows; rows >= kFewestRows; rows /= 4) {
        status = reserve_rows(plan, fused_stages, rows, pipeline);
        if (status.ok()) {
            pipeline.fused_stages = fused_stages;
            pipeline.wanted_rows = wanted_rows;
            pipeline.rows = rows;
            break;
        }
        GPUJOIN_RETURN_IF_FAILED(make_scratch(pipeline));
    }
    return status;
}

Status Pipelines::take(const FragmentPlan& plan, FragmentPlace& place, TopBound* bound,
                       std::unique_ptr<Pipeline>* pipeline) {
    {
        std::lock_guard lock(mutex_);
        free_.reserve(kMostFree);
        if (!free_.empty()) {
            *pipeline = std::move(free_.back());
            free_.pop_back();
            return {};
        }
    }
    return make_pipeline(plan, place, bound, pipeline);
}

void Pipelines::give_back(std::unique_ptr<Pipeline> pipeline) {
    std::lock_guard lock(mutex_);
    // Without room in the list the pipeline is simply freed.
    if (free_.size() < free_.capacity()) free_.push_back(std::move(pipeline));
}

}  // namespace gpujoin
