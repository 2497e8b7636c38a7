// Pulling rows through the stages: the last stage whose cursor has rows left goes on, and what it writes goes
// to the stage behind it, or to the sink. Fused stages have no cursors: a piece of the source goes through
// all of them when nothing is left of the piece before.
#include "engine/fragment/composed_cursor.h"

#include <algorithm>

#include "engine/counters.h"
#include "engine/guard.h"
#include "engine/result_layout.h"

namespace gpujoin {

namespace {

bool lacks_memory(const Status& status) {
    return status.fault == Fault::HostMemory || status.fault == Fault::DeviceMemory;
}

class ComposedCursor final : public Cursor {
  public:
    explicit ComposedCursor(OpenFragment& fragment) : fragment_(fragment) {}
    ~ComposedCursor() override;

    Status start(const BatchView& source);
    Status next(const Sink& sink, ResultBatch* result) override {
        return guarded([&] { return pull(sink, result); });
    }
    void skip(uint32_t) override {}

  private:
    Status pull(const Sink& sink, ResultBatch* result);
    Status advance(bool* has_moved);
    Status start_unfused();
    Status probe_fused();
    Status probe_fused_piece();
    Status start_stage(uint32_t stage, uint64_t rows);
    Status start_sink(uint64_t rows);
    Status pick_inputs(const uint32_t* list, uint32_t selected, const uint32_t** source_rows);
    Status find_rows(uint32_t origin, uint32_t at, const uint32_t** rows);
    Status select_top(uint32_t rows, const uint32_t** list, uint32_t* selected);
    Status find_selected(uint32_t origin, const uint32_t* list, uint32_t selected, const uint32_t** rows);
    const ColumnView& view_of(const LiveColumn& column) const {
        return column.origin == 0 ? pipeline_->source[column.column]
                                  : pipeline_->levels[column.origin - 1].columns[column.column];
    }
    Level& level(uint32_t stage) { return pipeline_->levels[stage]; }
    uint32_t stages() const { return static_cast<uint32_t>(pipeline_->levels.size()); }
    bool has_pieces() const { return fused_ > 0 && probed_rows_ < source_rows_; }
    bool is_last() const { return running_ == 0 && !has_pieces(); }
    // Starts what comes after so many stages, with what they have let pass.
    Status start_after(uint32_t passed, uint64_t rows) {
        return passed < stages() ? start_stage(passed, rows) : start_sink(rows);
    }

    OpenFragment& fragment_;
    std::unique_ptr<Pipeline> pipeline_;
    uint64_t source_rows_ = 0;
    uint32_t fused_ = 0;        // how many stages, from the first one on, are fused
    uint64_t probed_rows_ = 0;  // of the source, by these
    uint64_t piece_rows_ = 0;
    bool has_passed_ = false;  // rows of a piece have passed them
    uint32_t running_ = 0;     // how many stages, from the first one on, may have rows left to write
    bool is_done_ = false;     // the batch is
    bool has_rows_ = false;    // the sink has rows of the last stage that are not seen to
};

ComposedCursor::~ComposedCursor() {
    if (!pipeline_) return;
    for (Level& level : pipeline_->levels) level.cursor.reset();
    if (pipeline_->top.keys && !is_done_) pipeline_->top.keys->give_up();
    pipeline_->workspace->consumer().end();
    fragment_.pipelines.give_back(std::move(pipeline_));
}

Status ComposedCursor::start(const BatchView& source) {
    GPUJOIN_RETURN_IF_FAILED(
        fragment_.pipelines.take(fragment_.plan, *fragment_.place, &fragment_.bound, &pipeline_));
    if (pipeline_->top.keys) pipeline_->top.keys->begin();
    GPUJOIN_RETURN_IF_FAILED(pipeline_->workspace->consumer().begin());
    // First what there is no choice about.
    GPUJOIN_RETURN_IF_FAILED(pipeline_->workspace->take(source, fragment_.plan.source, pipeline_->source));
    source_rows_ = source.rows;
    fused_ = fragment_.place->fused_stages();
    if (has_pieces()) return probe_fused();
    pipeline_->workspace->end_fused();
    fused_ = 0;
    return start_unfused();
}

Status ComposedCursor::start_unfused() {
    const uint64_t rows = fragment_.place->rows_between_stages(source_rows_);
    GPUJOIN_RETURN_IF_FAILED(reserve(fragment_.plan, 0, rows, *pipeline_));
    return source_rows_ > 0 ? start_after(0, source_rows_) : Status{};
}

// Sends the next piece of the source through the fused stages. Where they have not the memory for that,
// stages go one by one; once rows have come out, pieces get smaller instead.
Status ComposedCursor::probe_fused() {
    const Status status = probe_fused_piece();
    if (lacks_memory(status) && !has_passed_) {
        pipeline_->workspace->end_fused();
        fused_ = 0;
        return start_unfused();
    }
    if (lacks_memory(status) && piece_rows_ > 1) {
        piece_rows_ /= 2;
        return {};
    }
    GPUJOIN_RETURN_IF_FAILED(status);
    probed_rows_ += std::min(piece_rows_, source_rows_ - probed_rows_);
    if (pipeline_->fused.rows == 0) return {};
    has_passed_ = true;
    return start_after(fused_, pipeline_->fused.rows);
}

Status ComposedCursor::probe_fused_piece() {
    FusedRows& fused = pipeline_->fused;
    if (probed_rows_ == 0) {
        GPUJOIN_RETURN_IF_FAILED(pipeline_->workspace->start_fused(fused_, pipeline_->source, source_rows_));
        const uint64_t wanted = fused_ == stages() ? fragment_.place->rows_of_piece(source_rows_)
                                                   : fragment_.place->rows_between_stages(source_rows_);
        GPUJOIN_RETURN_IF_FAILED(reserve(fragment_.plan, fused_, wanted, *pipeline_));
        piece_rows_ = pipeline_->rows;
        fused.rows_of.assign(fused_ + 1, nullptr);
        fused.columns.clear();
        for (uint32_t i = 0; i < fused_; i++) fused.columns.emplace_back(level(i).columns);
    }
    const uint64_t rows = std::min(piece_rows_, source_rows_ - probed_rows_);
    return pipeline_->workspace->probe_fused(probed_rows_, rows, &fused);
}

Status ComposedCursor::pull(const Sink& sink, ResultBatch* result) {
    RowConsumer& consumer = pipeline_->workspace->consumer();
    for (bool has_begun = false;; has_begun = true) {
        if (fragment_.cancel && fragment_.cancel->load(std::memory_order_relaxed)) return cancelled_status();
        *result = {};
        if (has_begun && turn_is_over()) return {};
        if (!has_rows_ && running_ > 0) {
            bool has_moved;
            GPUJOIN_RETURN_IF_FAILED(advance(&has_moved));
            if (!has_moved) return {};
            continue;
        }
        if (!has_rows_ && has_pieces()) {
            GPUJOIN_RETURN_IF_FAILED(probe_fused());
            continue;
        }
        AddTime timer(&fragment_.counters.ns);
        GPUJOIN_RETURN_IF_FAILED(consumer.next(is_last(), sink, result));
        const bool is_done = result->done;
        if (is_done) has_rows_ = false;
        result->done = is_done_ = is_done && is_last();
        if (!is_done || result->done || result->rows > 0) return {};
    }
}

// Goes on with the last stage that may have rows left. Not moved: the turn of its cursor was over.
Status ComposedCursor::advance(bool* has_moved) {
    const uint32_t stage = running_ - 1;
    Level& now = level(stage);
    const Sink sink{now.written->data(), now.written->bytes(), fragment_.place->memory()};
    GPUJOIN_RETURN_IF_FAILED(now.cursor->next(sink, &now.result));
    *has_moved = now.result.rows > 0 || now.result.done || now.result.bytes_needed > 0;
    if (now.result.bytes_needed > 0) return now.written->reserve(now.result.bytes_needed);
    if (now.result.done) now.cursor.reset();
    // So that the last rows of the batch are known to be the last.
    while (running_ > 0 && !level(running_ - 1).cursor) running_--;
    if (now.result.rows == 0) return {};
    view_result(now.result, fragment_.plan.stages[stage].columns, now.written->data(), now.columns);
    std::fill(now.rows_of.begin(), now.rows_of.end(), nullptr);
    return start_after(stage + 1, now.result.rows);
}

// Which rows of an origin's batch the rows of a level are: of level 0, the source, or those behind stage
// level - 1. nullptr: they are that batch. Behind fused stages they are known of all origins.
Status ComposedCursor::find_rows(uint32_t origin, uint32_t at, const uint32_t** rows) {
    const bool is_behind_fused = fused_ > 0 && at == fused_;
    *rows = is_behind_fused ? pipeline_->fused.rows_of[origin] : nullptr;
    if (origin == at || is_behind_fused) return {};
    Level& now = level(at - 1);
    if (!now.rows_of[origin]) {
        const auto* through = reinterpret_cast<const uint32_t*>(now.written->data() + now.result.probe_rows);
        const uint32_t* before;
        GPUJOIN_RETURN_IF_FAILED(find_rows(origin, at - 1, &before));
        if (before) {
            std::unique_ptr<Scratch>& composed = now.composed[origin];
            if (!composed) GPUJOIN_RETURN_IF_FAILED(pipeline_->workspace->make_scratch(&composed));
            GPUJOIN_RETURN_IF_FAILED(composed->reserve(now.result.rows * sizeof(uint32_t)));
            auto* to = reinterpret_cast<uint32_t*>(composed->data());
            GPUJOIN_RETURN_IF_FAILED(pipeline_->workspace->compose(before, through, now.result.rows, to));
            through = to;
        }
        now.rows_of[origin] = through;
    }
    *rows = now.rows_of[origin];
    return {};
}

// Starts the cursor of a stage on the rows of the level before. Columns of that level itself are read where
// they are.
Status ComposedCursor::start_stage(uint32_t stage, uint64_t rows) {
    Level& now = level(stage);
    {
        AddTime timer(&fragment_.counters.ns);
        const std::vector<LiveColumn>& columns = fragment_.plan.stages[stage].probe;
        for (size_t i = 0; i < columns.size(); i++) {
            PickedColumn& pick = now.picked[i];
            pick = {columns[i].spec, view_of(columns[i]), nullptr};
            GPUJOIN_RETURN_IF_FAILED(find_rows(columns[i].origin, stage, &pick.rows));
        }
        GPUJOIN_RETURN_IF_FAILED(
            pipeline_->workspace->gather(now.picked, rows, now.gathered.get(), now.probe));
    }
    GPUJOIN_RETURN_IF_FAILED(
        fragment_.joins[stage]->probe({rows, now.probe, fragment_.place->memory()}, &now.cursor));
    running_ = stage + 1;
    return {};
}

// list: nullptr where all rows go on.
Status ComposedCursor::select_top(uint32_t rows, const uint32_t** list, uint32_t* selected) {
    TopLevel& top = pipeline_->top;
    *list = nullptr;
    *selected = rows;
    if (!top.keys) return {};
    std::fill(top.rows_of.begin(), top.rows_of.end(), nullptr);
    const TopPlan& plan = fragment_.plan.sink.top;
    PickedColumn key{plan.key.spec, view_of(plan.key), nullptr};
    GPUJOIN_RETURN_IF_FAILED(find_rows(plan.key.origin, stages(), &key.rows));
    GPUJOIN_RETURN_IF_FAILED(top.list->reserve(rows * sizeof(uint32_t)));
    auto* numbers = reinterpret_cast<uint32_t*>(top.list->data());
    GPUJOIN_RETURN_IF_FAILED(
        pipeline_->workspace->select_top(key, plan.order, rows, *top.keys, numbers, selected));
    if (*selected < rows) *list = numbers;
    return {};
}

// As find_rows(), of the selected rows of the last level.
Status ComposedCursor::find_selected(uint32_t origin, const uint32_t* list, uint32_t selected,
                                     const uint32_t** rows) {
    GPUJOIN_RETURN_IF_FAILED(find_rows(origin, stages(), rows));
    if (!list) return {};
    TopLevel& top = pipeline_->top;
    if (*rows && !top.rows_of[origin]) {
        GPUJOIN_RETURN_IF_FAILED(top.composed[origin]->reserve(selected * sizeof(uint32_t)));
        auto* to = reinterpret_cast<uint32_t*>(top.composed[origin]->data());
        GPUJOIN_RETURN_IF_FAILED(pipeline_->workspace->compose(*rows, list, selected, to));
        top.rows_of[origin] = to;
    }
    *rows = *rows ? top.rows_of[origin] : list;
    return {};
}

// list: of the rows of the last level; nullptr: all of them.
Status ComposedCursor::pick_inputs(const uint32_t* list, uint32_t selected, const uint32_t** source_rows) {
    const std::vector<LiveColumn>& columns = fragment_.plan.sink.inputs;
    for (size_t i = 0; i < columns.size(); i++) {
        PickedColumn& pick = pipeline_->inputs[i];
        pick = {columns[i].spec, view_of(columns[i]), nullptr};
        GPUJOIN_RETURN_IF_FAILED(find_selected(columns[i].origin, list, selected, &pick.rows));
    }
    *source_rows = nullptr;
    if (fragment_.plan.sink.kind != SinkKind::Rows) return {};
    return find_selected(0, list, selected, source_rows);
}

// Hands the rows of the last level to the sink, or those of them that are wanted: where memory is too short
// to find these, all.
Status ComposedCursor::start_sink(uint64_t rows) {
    AddTime timer(&fragment_.counters.ns);
    const auto all = static_cast<uint32_t>(rows);
    const uint32_t *list, *source_rows;
    uint32_t selected;
    Status status = select_top(all, &list, &selected);
    if (status.ok()) status = pick_inputs(list, selected, &source_rows);
    if (pipeline_->top.keys && lacks_memory(status)) {
        selected = all;
        status = pick_inputs(nullptr, all, &source_rows);
    }
    GPUJOIN_RETURN_IF_FAILED(status);
    fragment_.counters.rows += all;
    fragment_.counters.left_out += all - selected;
    has_rows_ = true;
    return pipeline_->workspace->consumer().start(pipeline_->inputs, source_rows, selected);
}

}  // namespace

Status make_composed_cursor(OpenFragment& fragment, const BatchView& source,
                            std::unique_ptr<Cursor>* cursor) {
    auto made = std::make_unique<ComposedCursor>(fragment);
    GPUJOIN_RETURN_IF_FAILED(made->start(source));
    *cursor = std::move(made);
    return {};
}

}  // namespace gpujoin
