// Executing tasks, on worker threads.
#include "server/task.h"

#include <utility>

#include "engine/turn.h"
#include "server/resources.h"

namespace gpujoin {

namespace {

Status view_column(const TaskContext& context, const ColumnSpec& column, const ColumnBuffers& buffers,
                   const std::byte* block, uint64_t rows, PrivateCopies* copies, ColumnView* view) {
    if (buffers.validity != kNoBuffer)
        view->validity = reinterpret_cast<const uint8_t*>(block + buffers.validity);
    if (column.type != ColumnType::Bytes) {
        view->values = block + buffers.values;
        return {};
    }
    auto* offsets = copies->add<uint32_t>(rows + 1, context.host_memory, context.reserve);
    if (!offsets) return out_of_host_memory();
    view->offsets = offsets;
    view->data = block + buffers.data;
    view->data_bytes = buffers.data_bytes;
    return copy_offsets(reinterpret_cast<const uint32_t*>(block + buffers.values), rows, buffers.data_bytes,
                        offsets);
}

// Makes the batch of an Append or Probe readable. Once a task: a task that is tried again keeps its views.
Status view_batch(const TaskContext& context, std::span<const ColumnSpec> columns, Task& task,
                  BatchView* batch) {
    const std::byte* block = context.arena->at(task.batch.block.offset);
    if (task.views.empty()) {
        std::vector<ColumnView> views(columns.size());
        for (size_t i = 0; i < columns.size(); i++)
            GPUJOIN_RETURN_IF_FAILED(view_column(context, columns[i], task.buffers[i], block, task.batch.rows,
                                                 &task.copies, &views[i]));
        task.views = std::move(views);
    }
    *batch = BatchView{task.batch.rows, task.views, context.arena->kind_of(task.batch.block)};
    return {};
}

// How many rows each block has is copied before it is relied on. What fails concerns the chunk, not the join.
void append_kept(const TaskContext& context, Task& task) {
    const AppendKeptBody& body = task.kept_rows;
    std::vector<ColumnSpec> columns;
    for (const KeptValues& values : task.making->columns()) columns.push_back(values.column.spec);
    const auto* shared =
        reinterpret_cast<const uint16_t*>(context.arena->at(body.block.offset) + body.block_rows);
    const std::vector<uint16_t> block_rows(shared, shared + body.blocks);
    Status status = without_exceptions([&]() -> Status {
        BatchView batch;
        GPUJOIN_RETURN_IF_FAILED(view_batch(context, columns, task, &batch));
        return task.making->append(batch, body.first_block, block_rows);
    });
    if (!status.ok()) task.making->fail();
}

// Others have its rows alone then, so that its columns can join them. Who uses these goes on with all rows.
// What fails concerns the chunk, not the join.
void seal_kept(Task& task) {
    KeptChunk& chunk = *task.making;
    if (chunk.has_failed() || !task.kept_seal.keep) return;
    const Status status = without_exceptions([&]() -> Status {
        chunk.seal();
        for (const auto& part : task.parts)
            task.cut_parts.push_back(part->has_rows_of(chunk) ? part : part->cut_to(chunk));
        return {};
    });
    if (!status.ok()) chunk.fail();
}

Status append(const TaskContext& context, Task& task) {
    BatchView batch;
    const JoinSpec& spec = context.spec.stages[task.stage].join;
    GPUJOIN_RETURN_IF_FAILED(view_batch(context, {spec.build, spec.build_columns}, task, &batch));
    return context.fragment->join(task.stage).append(batch, *task.first_row);
}

Status mark_matched(const TaskContext& context, Task& task) {
    uint64_t count = task.marks.rows;
    auto* rows = task.copies.add<uint64_t>(count, context.host_memory, context.reserve);
    if (!rows) return out_of_host_memory();
    const auto* shared =
        reinterpret_cast<const volatile uint64_t*>(context.arena->at(task.marks.block.offset));
    bool valid = true;
    for (uint64_t i = 0; i < count; i++) valid &= (rows[i] = shared[i]) < context.build_rows;
    if (!valid) return malformed("report of matches").with_detail("It names build rows that do not exist.");
    return context.fragment->join(task.stage).mark_matched({rows, count});
}

Status open_cursor(const TaskContext& context, Task& task) {
    Fragment& fragment = *context.fragment;
    if (task.type == MessageType::ScanBuild)
        return fragment.join(task.stage).scan_build(task.matched, &task.cursor);
    if (task.type == MessageType::Flush) return fragment.flush(&task.cursor);
    const FragmentSpec& spec = *context.spec.spec;
    BatchView batch;
    GPUJOIN_RETURN_IF_FAILED(view_batch(context, {spec.source, spec.source_columns}, task, &batch));
    return fragment.run(batch, &task.cursor);
}

}  // namespace

PrivateCopies::~PrivateCopies() {
    for (const Array& array : arrays_) array.ledger->release(array.charged);
}

void* PrivateCopies::allocate(uint64_t bytes, Ledger* ledger, Ledger* reserve) {
    auto memory = std::make_unique_for_overwrite<uint64_t[]>((bytes + 7) / 8);
    arrays_.reserve(arrays_.size() + 1);
    if (!ledger->charge(bytes)) {
        if (!reserve || !reserve->charge(bytes)) return nullptr;
        ledger = reserve;
    }
    return arrays_.emplace_back(Array{ledger, bytes, std::move(memory)}).memory.get();
}

std::unique_ptr<Task> make_task(const Message& message) {
    auto task = std::make_unique<Task>();
    task->type = message.header->type;
    task->stage = message.header->stage;
    task->sequence = message.header->sequence;
    return task;
}

const BlockRange* Task::block() const {
    if (type == MessageType::Append || type == MessageType::Probe || type == MessageType::AppendKept)
        return &batch.block;
    return type == MessageType::MarkMatched ? &marks.block : nullptr;
}

Status execute(const TaskContext& context, Task& task, SealReport* report) {
    return without_exceptions([&]() -> Status {
        switch (task.type) {
            case MessageType::Append:
                return append(context, task);
            case MessageType::MarkMatched:
                return mark_matched(context, task);
            case MessageType::Rewind:
                return context.fragment->rewind();
            case MessageType::AppendKept:
                append_kept(context, task);
                return {};
            case MessageType::SealKept:
                seal_kept(task);
                return {};
            default:
                return context.fragment->join(task.stage).seal(report);
        }
    });
}

Status execute_cursor(const TaskContext& context, Task& task, const std::vector<ResultBlock>& blocks,
                      const std::function<void(const Delivery&)>& deliver, Delivery* last) {
    return without_exceptions([&]() -> Status {
        if (!task.cursor) GPUJOIN_RETURN_IF_FAILED(open_cursor(context, task));
        for (size_t i = 0; i < blocks.size(); i++) {
            if (int64_t row = task.skipped_row; row >= 0) task.cursor->skip(static_cast<uint32_t>(row));
            *last = Delivery{blocks[i].range, {}};
            GPUJOIN_RETURN_IF_FAILED(task.cursor->next(blocks[i].sink, &last->batch));
            if (last->batch.done) task.cursor.reset();
            if (last->batch.done || last->batch.rows == 0 || i + 1 == blocks.size() || turn_is_over()) break;
            deliver(*last);
        }
        return {};
    });
}

}  // namespace gpujoin
