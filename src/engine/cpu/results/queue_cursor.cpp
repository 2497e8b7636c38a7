// Filling sinks from a queue of row number pairs.
#include "engine/cpu/results/queue_cursor.h"

#include "engine/guard.h"
#include "engine/turn.h"

namespace gpujoin::cpu {

QueueCursor::~QueueCursor() {
    if (!scratch_) return;
    std::lock_guard lock(join_.mutex);
    // Without room in the list the scratch is simply freed.
    if (join_.free_scratch.size() < join_.free_scratch.capacity())
        join_.free_scratch.push_back(std::move(scratch_));
}

Status QueueCursor::open() {
    {
        std::lock_guard lock(join_.mutex);
        join_.free_scratch.reserve(64);
        if (!join_.free_scratch.empty()) {
            scratch_ = std::move(join_.free_scratch.back());
            join_.free_scratch.pop_back();
        }
    }
    if (!scratch_) {
        auto scratch = std::make_unique<CursorScratch>();
        GPUJOIN_RETURN_IF_FAILED(scratch->queue.open(join_.context.limits.host_memory));
        scratch_ = std::move(scratch);
    }
    scratch_->queue.clear();
    return {};
}

Status QueueCursor::next(const Sink& sink, ResultBatch* result) {
    AddTime timer(&join_.counters.probe_ns);
    return guarded([&] { return fill(sink, result); });
}

Status QueueCursor::fill(const Sink& sink, ResultBatch* result) {
    if (sink.kind == Memory::Device)
        return failure(Fault::Error, "XX000", "the CPU join engine cannot write device memory");
    *result = {};
    PairQueue& queue = scratch_->queue;
    queue.compact();
    writer_.start(sink.bytes);
    for (bool has_begun = false;; has_begun = true) {
        if (is_set(join_.context.limits.cancel)) return cancelled_status();
        bool has_room = writer_.take(queue);
        if ((!has_room && queue.size() > 0) || exhausted() || (has_begun && turn_is_over())) break;
        // Without more room it gives what it has.
        const Status room = queue.make_room();
        if (!room.ok() && (room.fault != Fault::HostMemory || queue.size() == 0)) return room;
        if (!room.ok()) break;
        GPUJOIN_RETURN_IF_FAILED(produce());
    }
    if (writer_.taken() == 0 && queue.size() > 0) {
        result->bytes_needed = writer_.bytes_of_first(queue);
        return {};
    }
    if (writer_.taken() > 0) {
        writer_.write(queue, sink.memory, result);
        queue.pop(writer_.taken());
    }
    result->done = exhausted() && queue.size() == 0;
    result->undecided = undecided();
    return {};
}

std::vector<OutputColumn> output_columns(const SealedJoin& join, const BatchView* batch,
                                         BuildNumbers numbers) {
    const JoinSpec& spec = join.context.spec;
    const JoinRows gives = rows_of_probing(spec);
    const bool may_lack_build_row = batch && (gives.unmatched_probe_rows || gives.matched_probe_rows);
    std::vector<OutputColumn> columns;
    for (uint32_t i = 0; i < spec.outputs; i++) {
        ColumnSource source = numbers == BuildNumbers::OfMatcher ? join.probed_source(spec.output[i])
                                                                 : join.context.build.source(spec.output[i]);
        columns.push_back({source, false, may_lack_build_row, result_column(spec, i)});
    }
    for (uint32_t i = 0; i < spec.carried; i++) {
        const ColumnSpec& column = spec.probe[spec.carry[i]];
        ColumnView view = batch ? batch->columns[spec.carry[i]] : ColumnView{};
        columns.push_back({probe_source(column, view), true, !batch, carried_column(spec, i, batch)});
    }
    return columns;
}

}  // namespace gpujoin::cpu
