// What a session's clients ask for, and what they are told.
#include <algorithm>
#include <cstring>
#include <utility>

#include "server/session.h"

namespace gpujoin {

namespace {

bool is_for_build_side(MessageType type) {
    return type == MessageType::Append || type == MessageType::BuildKept || type == MessageType::Seal ||
           type == MessageType::MarkMatched || type == MessageType::ScanBuild;
}

}  // namespace

Status Session::receive(Participant& participant, const Message& message) {
    if (phase_ == Phase::Over) return {};
    if (message.header->session != id_) return unexpected("It names another session.");
    if (stages_.empty() && is_for_build_side(message.header->type))
        return unexpected("There is no build side in this session.");
    Status status;
    switch (message.header->type) {
        case MessageType::Append:
        case MessageType::Probe:
            status = receive_batch(participant, message);
            break;
        case MessageType::MarkMatched:
            status = receive_marks(participant, message);
            break;
        case MessageType::Seal:
            status = queue(participant, make_task(message));
            break;
        case MessageType::ScanBuild:
            status = receive_scan(participant, message);
            break;
        case MessageType::Flush:
            status = receive_flush(participant, message);
            break;
        case MessageType::Rewind:
            status = receive_rewind(participant, message);
            break;
        case MessageType::FindKept:
        case MessageType::MakeKept:
        case MessageType::AppendKept:
        case MessageType::SealKept:
        case MessageType::RenewKept:
        case MessageType::ProbeKept:
        case MessageType::BuildKept:
            status = receive_kept(participant, message);
            break;
        case MessageType::Release:
            status = participant.take_back(message.as<ReleaseBody>().offset);
            break;
        case MessageType::Reserve:
            receive_reserve(participant, message);
            break;
        case MessageType::Skip:
            receive_skip(participant, message);
            break;
        case MessageType::GetStats:
            send_stats(participant, message.header->stage, message.header->sequence);
            break;
        default:
            status = unexpected("It is not for a client to send within a session.");
            break;
    }
    if (status.ok()) advance();
    return status;
}

Status Session::queue(Participant& participant, std::unique_ptr<Task> task) {
    if (participant.tasks.size() >= Participant::kMaxTasks)
        return unexpected("Too many messages wait to be handled.");
    participant.tasks.push_back(std::move(task));
    return {};
}

Status Session::receive_batch(Participant& participant, const Message& message) {
    auto task = make_task(message);
    task->batch = message.as<BatchBody>();
    std::span<const ColumnSpec> columns(spec_.spec->source, spec_.spec->source_columns);
    if (task->type == MessageType::Append) {
        const JoinSpec& join = spec_.stages[task->stage].join;
        columns = {join.build, join.build_columns};
    }
    GPUJOIN_RETURN_IF_FAILED(
        validate_buffers(columns, message.columns, task->batch.rows, task->batch.block.bytes));
    GPUJOIN_RETURN_IF_FAILED(participant.hand_over(task->batch.block));
    task->buffers.assign(message.columns.begin(), message.columns.end());
    return queue(participant, std::move(task));
}

Status Session::receive_marks(Participant& participant, const Message& message) {
    auto task = make_task(message);
    task->marks = message.as<MarkMatchedBody>();
    if (!spec_.stages[task->stage].join.client_decides)
        return unexpected("The client does not decide on matches in this join.");
    if (task->marks.rows > task->marks.block.bytes / sizeof(uint64_t))
        return unexpected("It reports more matches than its block holds.");
    GPUJOIN_RETURN_IF_FAILED(participant.hand_over(task->marks.block));
    return queue(participant, std::move(task));
}

// Of a chain no stage gives build rows, and no results name them.
Status Session::receive_scan(Participant& participant, const Message& message) {
    if (!spec_.view().is_plain_join()) return unexpected("Only plain joins have their build side scanned.");
    auto task = make_task(message);
    task->matched = message.as<ScanBuildBody>().matched != 0;
    return queue(participant, std::move(task));
}

Status Session::receive_flush(Participant& participant, const Message& message) {
    if (!has_groups()) return unexpected("There are no groups in this session.");
    return queue(participant, make_task(message));
}

// Takes probes that wait off the queue; one that a worker has is dropped when it comes back.
Status Session::receive_rewind(Participant& participant, const Message& message) {
    auto& tasks = participant.tasks;
    if (participant.running && !tasks.empty() && tasks.front()->gives_results())
        tasks.front()->dropped = true;
    std::deque<std::unique_ptr<Task>> dropped;
    for (auto& task : tasks)
        if (task->gives_results() && !task->dropped) dropped.push_back(std::move(task));
    std::erase(tasks, nullptr);
    discard(participant, std::move(dropped));
    return queue(participant, make_task(message));
}

void Session::receive_reserve(Participant& participant, const Message& message) {
    uint64_t sequence = message.header->sequence;
    uint64_t offset = 0;
    Status status = participant.hold_input(message.as<ReserveBody>().bytes, &offset);
    if (!status.ok()) return send(participant, MessageType::Failed, sequence, &status);
    reserve(participant, [this, &participant, sequence, offset](const Status& status) {
        if (phase_ == Phase::Over || participant.gone) return;
        if (!status.ok()) return send(participant, MessageType::Failed, sequence, &status);
        GrantBody body{participant.held(offset)};
        send(participant, MessageType::Grant, sequence, &body);
    });
}

void Session::receive_skip(Participant& participant, const Message& message) {
    if (participant.tasks.empty() || !spec_.view().is_plain_join()) return;
    Task& task = *participant.tasks.front();
    uint32_t row = message.as<SkipBody>().probe_row;
    if (task.type != MessageType::Probe || task.sequence != message.header->sequence ||
        row >= task.batch.rows)
        return;
    task.skipped_row = std::max<int64_t>(task.skipped_row, row);
}

void Session::send(Participant& participant, MessageType type, uint64_t sequence, const void* body) {
    participant.connection.send(type, id_, sequence, body);
}

void Session::send_welcome(Participant& participant) {
    OpenedBody body{};
    std::ranges::copy(secret_, body.secret);
    participant.first_input(body.input);
    participant.welcome = true;
    copy_text(device_->label, body.device);
    send(participant, MessageType::Opened, 0, &body);
}

void Session::send_sealed(Participant& participant, uint32_t stage) {
    participant.connection.send(MessageType::Sealed, id_, 0, &stages_[stage].report, {}, stage);
}

void Session::send_result(Participant& participant, const Task& task, const Delivery& delivery) {
    const ResultBatch& batch = delivery.batch;
    BatchBody body{};
    body.rows = batch.rows;
    body.last = batch.done;
    body.undecided = batch.undecided;
    body.complete = batch.complete;
    body.moved = moved_;
    body.probe_rows = body.build_rows = kNoBuffer;
    std::span<const ColumnBuffers> columns;
    if (batch.rows > 0) {
        columns = batch.columns;
        body.block = delivery.block;
        body.columns = static_cast<uint16_t>(columns.size());
        body.probe_rows = batch.probe_rows;
        body.build_rows = batch.build_rows;
    }
    participant.connection.send(MessageType::Result, id_, task.sequence, &body, std::as_bytes(columns));
}

void Session::send_stats(Participant& participant, uint32_t stage, uint64_t sequence) {
    StatsBody body{};
    if (fragment_ && !stages_.empty()) body.join = fragment_->join(stage).stats();
    if (!stages_.empty()) body.join.skipped_rows = stages_[stage].skipped_rows;
    if (fragment_) body.sink = fragment_->sink_stats();
    body.sink.skipped_rows = skipped_rows_;
    body.join.moved = moved_;
    copy_text(device_->label, body.join.device);
    participant.connection.send(MessageType::Stats, id_, sequence, &body, {}, stage);
}

}  // namespace gpujoin
