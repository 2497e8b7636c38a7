// A session's life: opening, moving to the CPU engine, ending.
#include "server/session.h"

#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "server/log.h"
#include "server/memory_limit.h"

namespace gpujoin {

namespace {

constexpr uint64_t kMinimumWorkingSet = 1u << 20;
constexpr uint64_t kBatchesOnDevice = 256u << 20;

uint64_t lent_memory(const Resources& resources, const OpenBody& open) {
    return std::min(open.lent_memory, resources.arena->lent()->limit());
}

}  // namespace

Session::Session(uint64_t id, const Resources& resources, OwnedFragment spec, const OpenBody& open)
    : id_(id),
      query_(open.query),
      resources_(resources),
      most_memory_(open.most_memory > 0 ? open.most_memory : kNoLimit),
      is_lent_memory_(open.lent_memory > 0),
      host_memory_(std::min(resources.host_memory->limit(), most_memory_) + lent_memory(resources, open),
                   resources.host_memory, is_lent_memory_ ? resources.arena->lent() : resources.reserve,
                   std::max(kMinimumWorkingSet, lent_memory(resources, open))),
      spec_(std::move(spec)),
      stages_(spec_.stages.size()) {}

Session::~Session() {
    if (device_) device_->sessions--;
}

Status Session::open(const std::shared_ptr<Participant>& participant) {
    if (getrandom(secret_.data(), secret_.size(), 0) != static_cast<ssize_t>(secret_.size()))
        return failure(Fault::Error, "58000", "could not get random bytes");
    GPUJOIN_RETURN_IF_FAILED(participant->hold_minimum());
    opener_ = participant->connection.peer_process();
    participants_.push_back(participant);
    participant->session = this;
    participant->is_lent_memory = is_lent_memory_;
    use_device(resources_.devices->choose(spec_.view(), most_memory_ < kNoLimit));
    reserve(*participant, [this](const Status& status) {
        if (phase_ == Phase::Over) return;
        if (!status.ok()) return fail(status);
        start_open();
    });
    return {};
}

Status Session::attach(const std::shared_ptr<Participant>& participant, const uint8_t (&secret)[16]) {
    bool is_open = phase_ == Phase::Building || phase_ == Phase::Sealed;
    if (!is_open || memcmp(secret, secret_.data(), sizeof secret) != 0) return session_is_over(id_);
    GPUJOIN_RETURN_IF_FAILED(participant->hold_minimum());
    participants_.push_back(participant);
    participant->session = this;
    participant->is_lent_memory = is_lent_memory_;
    reserve(*participant, [this, &participant = *participant](const Status& status) {
        if (phase_ == Phase::Over) return;
        if (!status.ok()) {
            send(participant, MessageType::Failed, 0, &status);
            return participant.connection.finish();
        }
        send_welcome(participant);
        for (uint32_t stage = 0; stage < stages_.size(); stage++)
            if (stages_[stage].is_sealed) send_sealed(participant, stage);
    });
    return {};
}

void Session::disconnect(Participant& participant) {
    participant.gone = true;
    participant.connection.close();
    lost_groups_ = lost_groups_ || loses_groups(participant);
    if (std::ranges::all_of(participants_, [](const auto& other) { return other->gone.load(); })) {
        phase_ = Phase::Over;
        cancel_ = true;
    }
    advance();
}

// Whether others would miss what it has not finished.
bool Session::loses_groups(const Participant& participant) const {
    return has_groups() && std::ranges::any_of(participant.tasks, [](const auto& task) {
               return task->gives_results() && !task->dropped;
           });
}

void Session::fail(const Status& status) {
    end(status);
    advance();
}

void Session::end(Status status) {
    if (phase_ == Phase::Over) return;
    phase_ = Phase::Over;
    cancel_ = true;
    if (status.fault == Fault::HostMemory && most_memory_ <= resources_.host_memory->limit())
        status.with_hint(
            "Increase gpujoin.max_join_memory, which limits each join of this session, or "
            "gpujoin.host_memory, or set gpujoin.enabled to off for this query.");
    if (status.fault == Fault::Protocol)
        log_line(LogLevel::Warning, "%s: a client broke the protocol: %s: %s", name().c_str(), status.message,
                 status.detail);
    for (const auto& participant : participants_) {
        send(*participant, MessageType::Failed, 0, &status);
        participant->connection.finish();
    }
}

// In the log. The process and the query are named as PostgreSQL's own log lines name them (%p and %Q).
std::string Session::name() const {
    const std::string query = query_ == 0 ? "" : ", query " + std::to_string(query_);
    return "join session " + std::to_string(id_) + " of process " + std::to_string(opener_) + query;
}

// Without stages there is nothing to build.
void Session::note_sealed() {
    if (phase_ == Phase::Sealed || !std::ranges::all_of(stages_, &Stage::is_sealed)) return;
    phase_ = Phase::Sealed;
    // Rows of a batch and their results lie there, too, which main memory has blocks for: without room for
    // these a join would fail that has begun to give results.
    if (!device_->is_cpu() && most_memory_ < device_->memory.limit())
        device_memory_->extend(kBatchesOnDevice);
}

// Starts whatever can be started. Called after every change; never waits. A session that there is no memory
// for ends; where there is none to wind it down either, this throws, and is called again later.
void Session::advance() {
    try {
        start_what_may();
    } catch (const std::bad_alloc&) {
        end(out_of_machine_memory());
        start_what_may();
    }
}

void Session::start_what_may() {
    if (phase_ == Phase::Over) {
        if (wound_down_)
            forget_gone();
        else if (running_ == 0)
            start_winding_down();
        return;
    }
    if (wants_move_) {
        if (running_ == 0) start_move();
        return;
    }
    if (phase_ == Phase::Opening) return;
    for (size_t i = 0; i < participants_.size() && phase_ != Phase::Over; i++) {
        Participant& participant = *participants_[i];
        if (participant.running || participant.tasks.empty()) continue;
        if (participant.gone && !participant.is_appending())
            discard(participant, std::exchange(participant.tasks, {}));
        else if (may_start(participant))
            start_task(participant);
    }
    if (phase_ != Phase::Over) forget_gone();
}

// Has a worker do something; then() gets its outcome on the event thread. By then all that the work held is
// gone: it may use the session's ledgers, and the session may end.
void Session::run(std::function<Status()> work, std::function<void(const Status&)> then) {
    auto outcome = std::make_shared<Status>();
    auto report = letter([then = std::move(then), outcome] { then(*outcome); });
    auto call = [this, work = std::move(work), outcome, report = std::move(report)]() mutable {
        *outcome = without_exceptions(work);
        work = nullptr;
        resources_.mailbox->post(std::move(report));
    };
    if (phase_ == Phase::Opening)
        resources_.workers->run_opening(share_, std::move(call));
    else
        resources_.workers->run(share_, std::move(call));
    running_++;
}

// Has pages set aside for the blocks that a participant has just been granted; then() goes on, at once where
// they have been used before. What comes out of it is then()'s to say: the session may be over.
void Session::reserve(Participant& participant, std::function<void(const Status&)> then) {
    if (!participant.has_bare()) return then({});
    auto backings = std::make_shared<std::vector<Backing>>();
    *backings = participant.take_bare();
    auto settled = [&participant, backings, then = std::move(then)] {
        participant.reserving--;
        then(participant.settle(*backings));
    };
    resources_.reserver->reserve(backings, &participant.gone, letter(settled));
    participant.reserving++;
    running_++;
}

// A letter that reports what was running. It is written beforehand, so that no report fails for want of
// memory.
Mailbox::Letters Session::letter(std::function<void()> then) {
    Mailbox::Letters letters;
    letters.emplace_back([this, then = std::move(then)] {
        running_--;
        try {
            then();
        } catch (const std::bad_alloc&) {
            end(out_of_machine_memory());
        }
        advance();
    });
    return letters;
}

Status Session::open_fragment(Device& device) {
    return device.engine->open_fragment(spec_.view(), limits_on(device), &fresh_fragment_);
}

void Session::start_open() {
    auto work = [this] { return open_fragment(*device_); };
    run(work, [this](const Status& status) {
        if (phase_ == Phase::Over) return;
        if (status.fault == Fault::DeviceMemory && !device_->is_cpu()) {
            use_device(resources_.devices->cpu());
            moved_ = true;
            return start_open();
        }
        if (!status.ok()) return fail(status);
        fragment_ = std::move(fresh_fragment_);
        phase_ = Phase::Building;
        note_sealed();
        send_welcome(*participants_.front());
    });
}

// Hands the build side of each stage to the fresh fragment.
Status Session::move_build_sides(Fragment& from) {
    for (uint32_t i = 0; i < stages_.size(); i++) {
        auto append = [&join = fresh_fragment_->join(i)](const BatchView& batch, uint64_t first_row) {
            return join.append(batch, first_row);
        };
        GPUJOIN_RETURN_IF_FAILED(from.join(i).export_build(append));
    }
    return {};
}

// Seals what was sealed.
Status Session::seal_fresh_fragment() {
    for (uint32_t i = 0; i < stages_.size(); i++)
        if (stages_[i].is_sealed)
            GPUJOIN_RETURN_IF_FAILED(fresh_fragment_->join(i).seal(&stages_[i].fresh_report));
    return {};
}

// With no task running: makes the fragment again on the CPU engine. Probes that were begun start again.
void Session::start_move() {
    log_line(LogLevel::Log, "%s moves to the CPU: no room on %s", name().c_str(), device_->label.c_str());
    struct Old {
        std::unique_ptr<Fragment> fragment;
        std::vector<std::unique_ptr<Cursor>> cursors;
        std::vector<std::unique_ptr<KeptLanes>> lanes;
        std::vector<KeptBuild*> builds;  // which go on
    };
    auto old = std::make_shared<Old>();
    for (const auto& participant : participants_) {
        if (participant->tasks.empty()) continue;
        Task& task = *participant->tasks.front();
        old->cursors.push_back(std::move(task.cursor));
        old->lanes.push_back(std::move(task.lanes));
        if (task.build) old->builds.push_back(task.build.get());
    }
    old->fragment = std::move(fragment_);

    auto work = [this, old]() -> Status {
        old->cursors.clear();
        old->lanes.clear();
        for (KeptBuild* build : old->builds) build->leave_device();
        GPUJOIN_RETURN_IF_FAILED(open_fragment(resources_.devices->cpu()));
        GPUJOIN_RETURN_IF_FAILED(move_build_sides(*old->fragment));
        old->fragment.reset();
        return seal_fresh_fragment();
    };
    run(work, [this](const Status& status) {
        wants_move_ = false;
        if (phase_ == Phase::Over) return;
        // With what is left of the fragment there is no second attempt.
        if (!status.ok()) return end_for(status);
        use_device(resources_.devices->cpu());
        fragment_ = std::move(fresh_fragment_);
        moved_ = true;
        for (Stage& stage : stages_)
            if (stage.is_sealed) stage.report = stage.fresh_report;  // for participants that come later
    });
}

// With no task running: destroys all that the engine has of this session.
void Session::start_winding_down() {
    struct Remains {
        std::unique_ptr<Fragment> fragment, fresh_fragment;
        std::vector<std::deque<std::unique_ptr<Task>>> tasks;
    };
    auto remains = std::make_shared<Remains>();
    for (const auto& participant : participants_)
        remains->tasks.push_back(std::exchange(participant->tasks, {}));
    remains->fragment = std::move(fragment_);
    remains->fresh_fragment = std::move(fresh_fragment_);
    auto work = [remains]() -> Status {
        remains->tasks.clear();
        remains->fragment.reset();
        remains->fresh_fragment.reset();
        return {};
    };
    run(work, [this](const Status&) { wound_down_ = true; });
}

// Participants whose clients have gone give their blocks back, once no cursor of theirs is left.
void Session::forget_gone() {
    std::erase_if(participants_, [this](const auto& participant) {
        bool has_done = participant->gone && !participant->running && participant->reserving == 0 &&
                        participant->tasks.empty();
        if (has_done) give_up_making(*participant);
        return has_done;
    });
}

void Session::use_device(Device& device) {
    if (device_) device_->sessions--;
    device_ = &device;
    device_->sessions++;
    // What readers of kept rows had there was charged to its ledger, which they still name.
    if (!device.is_cpu())
        device_memory_ =
            std::make_unique<Ledger>(std::min(device.memory.limit(), most_memory_), &device.memory);
}

Limits Session::limits_on(Device& device) {
    return Limits{&host_memory_, device.is_cpu() ? nullptr : device_memory_.get(), &cancel_};
}

}  // namespace gpujoin
