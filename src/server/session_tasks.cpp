// Executing a session's tasks: which may start, what becomes of their outcome.
#include <algorithm>
#include <utility>

#include "server/session.h"

namespace gpujoin {

namespace {

Status groups_are_lost(uint64_t session) {
    return failure(Fault::Error, "58000", "groups of join session %llu are incomplete",
                   static_cast<unsigned long long>(session))
        .with_detail("A participant has left it before its rows were aggregated and its groups given out.")
        .with_hint("Retry the query.");
}

}  // namespace

// What others have under way without a task is a cursor that is being destroyed.
bool Session::may_start(const Participant& participant) const {
    const Task& task = *participant.tasks.front();
    return std::ranges::none_of(participants_, [&](const auto& other) {
        bool is_active =
            other.get() != &participant && (other->running || other->holds_cursor() || other->is_appending());
        if (!is_active) return false;
        return other->tasks.empty() ? task.is_exclusive() : task.excludes(*other->tasks.front());
    });
}

Status Session::check_phase(const Task& task) const {
    if (task.keeps()) return {};
    if (task.builds())
        return stages_[task.stage].is_sealed ? unexpected("The build side is sealed already.") : Status{};
    if (phase_ != Phase::Sealed) return unexpected("The build side is not sealed yet.");
    return lost_groups_ && task.gives_results() ? groups_are_lost(id_) : Status{};
}

TaskContext Session::context(const Task& task) {
    Ledger* reserve = task.builds() ? nullptr : resources_.reserve;
    Stage* stage = stages_.empty() ? nullptr : &stages_[task.stage];
    return {spec_.view(), resources_.arena, &host_memory_,
            reserve,      fragment_.get(),  stage ? stage->report.build_rows : 0};
}

void Session::start_task(Participant& participant) {
    Task& task = *participant.tasks.front();
    if (Status status = check_phase(task); !status.ok()) return fail(status);
    if (task.type == MessageType::ProbeKept) return start_lanes(participant, task);
    if (task.type == MessageType::BuildKept) return start_build(participant, task);
    if (task.gives_results()) return start_cursor(participant, task);
    if (task.type == MessageType::Rewind) lost_groups_ = false;  // who goes from now on loses new ones
    if (task.type == MessageType::Append && !task.first_row) {
        Stage& stage = stages_[task.stage];
        task.first_row = stage.next_row.fetch_add(task.batch.rows);
    }
    SealReport* report = task.type == MessageType::Seal ? &stages_[task.stage].fresh_report : nullptr;
    run([context = context(task), report, &task] { return execute(context, task, report); },
        [this, &participant](const Status& status) { finish_task(participant, status); });
    participant.running = true;
}

void Session::start_cursor(Participant& participant, Task& task) {
    std::vector<ResultBlock> blocks;
    if (Status status = participant.take_result_blocks(task.bytes_needed, &blocks); !status.ok())
        return fail(status);
    if (blocks.empty()) return park(participant);
    auto last = std::make_shared<Delivery>();
    auto post = [this, &participant, &task](const Delivery& delivery) {
        resources_.mailbox->post([=, this, &participant, &task] { deliver(participant, task, delivery); });
    };
    run([=, context = context(task),
         &task] { return execute_cursor(context, task, blocks, post, last.get()); },
        [this, &participant, last](const Status& status) {
            if (status.ok())
                finish_cursor(participant, *last);
            else
                finish_task(participant, status);
            participant.return_result_blocks();
        });
    participant.running = true;
}

// Until there is a block: one that the client gives back, or a large one that was granted now. The others do
// not want the rows of a client that has gone.
void Session::park(Participant& participant) {
    if (!participant.has_bare()) return;
    reserve(participant, [this, &participant](const Status& status) {
        if (!status.ok() && !participant.gone) fail(status);
    });
}

// Whether what a task did is lost, because it did it on the device that the session is about to leave: of a
// join that moves only the build rows come along, and chunks are none of its.
bool Session::is_lost(const Task& task) const {
    return wants_move_ && !task.appends() && !task.keeps() && !task.dropped;
}

// Results in the middle of a task.
void Session::deliver(Participant& participant, const Task& task, const Delivery& delivery) {
    if (phase_ == Phase::Over || participant.gone || task.dropped || is_lost(task)) return;
    answered_ = true;
    if (delivery.batch.rows > 0) participant.hand_out_result(delivery.block);
    send_result(participant, task, delivery);
}

void Session::finish_cursor(Participant& participant, const Delivery& last) {
    participant.running = false;
    Task& task = *participant.tasks.front();
    if (is_lost(task)) return;
    if (last.batch.rows > 0 || last.batch.done) deliver(participant, task, last);
    task.bytes_needed = last.batch.rows == 0 ? last.batch.bytes_needed : 0;
    if (last.batch.done || task.dropped) pop_task(participant);
}

void Session::finish_task(Participant& participant, const Status& status) {
    participant.running = false;
    const Task& task = *participant.tasks.front();
    if (phase_ == Phase::Over || (participant.gone && !task.has_numbered())) return;
    if (task.dropped && status.fault != Fault::DeviceLost) return pop_task(participant);
    if (!status.ok()) return handle_failure(status);
    if (is_lost(task) || task.goes_on()) return;
    answer(participant, task);
    pop_task(participant);
}

// The session moves, or ends.
void Session::handle_failure(const Status& status) {
    bool may_move = status.fault == Fault::DeviceMemory && !device_->is_cpu() && !answered_;
    if (may_move)
        wants_move_ = true;
    else
        end_for(status);
}

// Ends the session; or, with a device that is lost to this process, all of them.
void Session::end_for(const Status& status) {
    if (status.fault == Fault::DeviceLost) leave_for(*device_, status, "in " + name());
    fail(status);
}

void Session::answer(Participant& participant, const Task& task) {
    switch (task.type) {
        case MessageType::Append:
        case MessageType::AppendKept:
            return send(participant, MessageType::Appended, task.sequence);
        case MessageType::SealKept:
            return answer_seal_kept(participant, task);
        case MessageType::BuildKept:
            return answer_build_kept(participant, task);
        case MessageType::MarkMatched:
            answered_ = true;
            return send(participant, MessageType::Marked, task.sequence);
        case MessageType::Rewind:
            answered_ = false;
            return send(participant, MessageType::Rewound, task.sequence);
        default:
            return answer_seal(task);
    }
}

void Session::answer_seal(const Task& task) {
    Stage& stage = stages_[task.stage];
    stage.is_sealed = true;
    stage.report = stage.fresh_report;
    note_sealed();
    for (const auto& everyone : participants_)
        if (everyone->welcome) send_sealed(*everyone, task.stage);
}

void Session::pop_task(Participant& participant) {
    std::deque<std::unique_ptr<Task>> done;
    done.push_back(std::move(participant.tasks.front()));
    participant.tasks.pop_front();
    discard(participant, std::move(done));
}

// Hands back the blocks of tasks that were taken off the queue, and destroys them: cursors and readers on a
// worker, since that may take a while.
void Session::discard(Participant& participant, std::deque<std::unique_ptr<Task>> tasks) {
    for (const auto& task : tasks)
        if (const BlockRange* block = task->block()) participant.hand_back(*block);
    if (std::ranges::none_of(tasks, [](const auto& task) { return task->is_slow_to_go(); })) return;
    auto remains = std::make_shared<std::deque<std::unique_ptr<Task>>>(std::move(tasks));
    auto work = [remains]() -> Status {
        remains->clear();
        return {};
    };
    run(work, [&participant](const Status&) { participant.running = false; });
    participant.running = true;
}

}  // namespace gpujoin
