// Session: a running fragment (joins, its stages, and a sink) and its participants. All of it belongs to the
// event thread; workers are handed one task of a participant at a time and report back through the
// mailbox.
//
//   opening → building → sealed → over → wound down → erased by the server
//
// Stages are built and sealed in any order, each by itself; the session is sealed when all of them are.
//
// Order: each participant's tasks are executed in the order they came. Tasks of different participants run
// side by side, except that Seal has its stage to itself, and Rewind, ScanBuild and Flush the fragment. A
// cursor whose turn is over comes back and waits for the next one, with what it has found sent out. A cursor
// without a free result block is parked: it is looked at again when the client releases one, or when one that
// is large enough for a large row has its pages.
//
// Ends: a failed task ends the session for all participants; a closed connection ends one participant; the
// last one's ends the session. Then the cancel flag is set, running tasks are waited for (by looking again
// when they report back, never by blocking), cursors and fragment are destroyed on a worker, and a
// participant's blocks go back to the arena once its client has closed: until then it may still write to
// them.
//
// Build rows are numbered by their stage when their Append is started. Once it has its numbers it is executed
// to its end, if need be again after a move, and though its client has gone: else they would be missing among
// those of the other participants.
//
// Groups: what the probes of all participants leave in the sink is whoever's who flushes. Where a participant
// goes with a Probe or Flush unfinished, rows of its are aggregated in part, or groups given out to nobody.
// So from then on the session ends (58000) when anyone wants results, until it is rewound; one who only looks
// at its figures, as at the end of a query with a LIMIT, is not disturbed.
//
// Moving: a fragment that finds no room on its device is tried again on the CPU engine as long as no client
// has been answered a probe: its build sides are exported there, and the tasks that failed, which have stayed
// at the head of their queues, are executed again; so are probes and marks of other participants that end
// while the move is due, unanswered.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/fragment.h"
#include "server/participant.h"
#include "server/resources.h"
#include "wire/owned_fragment.h"

namespace gpujoin {

// What one is told who comes when a session is over, or to another server than the one that had it.
inline Status session_is_over(uint64_t id) {
    return failure(Fault::Error, "58000", "join session %llu is over", static_cast<unsigned long long>(id))
        .with_detail("Its participants have left it, or the server process that had it has ended.")
        .with_hint("Retry the query.");
}

// What one is told who sends a message that is well-formed but out of place.
inline Status unexpected(const char* detail) {
    return failure(Fault::Protocol, "08P01", "unexpected message").with_detail("%s", detail);
}

class Session {
  public:
    // open: what the message said, of which the memory and the query hold on.
    Session(uint64_t id, const Resources& resources, OwnedFragment spec, const OpenBody& open);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // Adds the first participant, for whom the fragment is opened, or a further one who knows the secret. A
    // failure concerns this participant alone.
    Status open(const std::shared_ptr<Participant>& participant);
    Status attach(const std::shared_ptr<Participant>& participant, const uint8_t (&secret)[16]);

    // Handles a message of a participant. A failure ends the session (see fail()).
    Status receive(Participant& participant, const Message& message);
    // The participant's client has closed its end.
    void disconnect(Participant& participant);
    // Ends the session; every participant is told.
    void fail(const Status& status);
    void advance();

    uint64_t id() const { return id_; }
    size_t stages() const { return stages_.size(); }
    // Nothing is left to wait for: to be erased.
    bool is_finished() const { return wound_down_ && participants_.empty(); }

  private:
    enum class Phase { Opening, Building, Sealed, Over };

    struct Stage {
        std::atomic<uint64_t> next_row{0};  // number of the build row that comes next
        bool is_sealed = false;
        SealReport report{};
        SealReport fresh_report{};
        uint64_t skipped_rows = 0;  // of kept ones
    };

    // session_messages.cpp: what clients ask for.
    Status receive_batch(Participant& participant, const Message& message);
    Status receive_marks(Participant& participant, const Message& message);
    Status receive_scan(Participant& participant, const Message& message);
    Status receive_flush(Participant& participant, const Message& message);
    Status receive_rewind(Participant& participant, const Message& message);
    Status receive_release(Participant& participant, const Message& message);
    void receive_reserve(Participant& participant, const Message& message);
    void receive_skip(Participant& participant, const Message& message);
    Status queue(Participant& participant, std::unique_ptr<Task> task);
    void send_welcome(Participant& participant);
    void send_sealed(Participant& participant, uint32_t stage);
    void send_result(Participant& participant, const Task& task, const Delivery& delivery);
    void send_stats(Participant& participant, uint32_t stage, uint64_t sequence);
    void send(Participant& participant, MessageType type, uint64_t sequence, const void* body = nullptr);

    // session_kept.cpp: kept columns.
    struct KeptHandle {
        ChunkKey key;
        KeptView view;                      // of one that was found
        std::shared_ptr<KeptChunk> making;  // by the maker
        const Participant* maker;
        bool is_complete;  // nothing is added to it any more
    };
    Status receive_kept(Participant& participant, const Message& message);
    Status find_kept(Participant& participant, const Message& message);
    Status make_kept(Participant& participant, const Message& message);
    Status append_kept(Participant& participant, const Message& message);
    Status seal_kept(Participant& participant, const Message& message);
    Status renew_kept(const Message& message);
    Status scan_kept(Participant& participant, const Message& message);
    void answer_build_kept(Participant& participant, const Task& task);
    void answer_seal_kept(Participant& participant, const Task& task);
    void run_round(Participant& participant, const std::vector<std::function<Status()>>& works,
                   const std::function<void(const Status&)>& then);
    void start_lanes(Participant& participant, Task& task);
    void start_round(Participant& participant, Task& task);
    void finish_round(Participant& participant, const Status& status);
    void start_build(Participant& participant, Task& task);
    bool deliver_lanes(Participant& participant, Task& task);
    uint32_t hold(const ChunkKey& chunk, KeptView view);
    KeptHandle* find_making(const Participant& participant, uint32_t handle);
    void give_up_making(const Participant& participant);
    FoundChunk find_chunk(const ChunkKey& key, std::span<const ChunkColumn> columns);
    void send_found(Participant& participant, uint64_t sequence, const FoundKeptBody& body);

    // session_tasks.cpp: executing tasks.
    Status check_phase(const Task& task) const;
    bool may_start(const Participant& participant) const;
    void start_task(Participant& participant);
    void start_cursor(Participant& participant, Task& task);
    void park(Participant& participant);
    bool is_lost(const Task& task) const;
    void deliver(Participant& participant, const Task& task, const Delivery& delivery);
    void finish_task(Participant& participant, const Status& status);
    void finish_cursor(Participant& participant, const Delivery& last);
    void handle_failure(const Status& status);
    void end_for(const Status& status);
    void answer(Participant& participant, const Task& task);
    void answer_seal(const Task& task);
    void pop_task(Participant& participant);
    void discard(Participant& participant, std::deque<std::unique_ptr<Task>> tasks);
    TaskContext context(const Task& task);

    // session.cpp: life and death.
    void start_what_may();
    void note_sealed();
    void end(Status status);
    std::string name() const;
    void run(std::function<Status()> work, std::function<void(const Status&)> then);
    void reserve(Participant& participant, std::function<void(const Status&)> then);
    Mailbox::Letters letter(std::function<void()> then);
    bool has_groups() const { return spec_.spec->sink == SinkKind::Groups; }
    bool loses_groups(const Participant& participant) const;
    Status open_fragment(Device& device);
    Status move_build_sides(Fragment& from);
    Status seal_fresh_fragment();
    void start_open();
    void start_move();
    void start_winding_down();
    void forget_gone();
    void use_device(Device& device);
    Limits limits_on(Device& device);

    const uint64_t id_;
    const int64_t query_;  // for the log; 0: unknown
    pid_t opener_ = 0;     // process that has opened it, for the log
    const Resources resources_;
    const WorkerThreads::Share share_ = WorkerThreads::make_share();  // of the workers' time
    std::array<uint8_t, 16> secret_{};
    std::atomic<bool> cancel_{false};
    const uint64_t most_memory_;
    const bool is_lent_memory_;
    Ledger host_memory_;
    Device* device_ = nullptr;
    std::unique_ptr<Ledger> device_memory_;  // of the device, or of the one that was left
    const OwnedFragment spec_;
    std::vector<Stage> stages_;
    uint64_t skipped_rows_ = 0;  // of kept ones of the source
    std::unique_ptr<Fragment> fragment_;
    std::unique_ptr<Fragment> fresh_fragment_;  // what a worker makes, until it has reported back

    Phase phase_ = Phase::Opening;
    bool wants_move_ = false;  // a task has failed for lack of device memory
    bool moved_ = false;
    bool answered_ = false;     // results or marks were acknowledged: too late to move
    bool lost_groups_ = false;  // a participant has gone with some
    bool wound_down_ = false;
    size_t running_ = 0;  // works at the workers and the reserver
    std::vector<std::shared_ptr<Participant>> participants_;
    std::vector<KeptHandle> kept_;  // by handle, from 1 on
};

}  // namespace gpujoin
