// Task: one message that needs the engine, from its arrival until it is answered. The event thread queues it
// and answers; a worker executes it. What the engine shall rely on is copied out of the shared block first:
// the offsets of Bytes columns, and the numbers of matched build rows.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/fragment.h"
#include "engine/kept/kept_view.h"
#include "server/arena.h"
#include "server/kept_build.h"
#include "server/kept_lanes.h"
#include "server/kept_store.h"
#include "wire/message.h"

namespace gpujoin {

// Arrays in private memory, charged as long as they live: to one ledger, or where that has no room to a
// reserve, if there is one.
class PrivateCopies {
  public:
    PrivateCopies() = default;
    ~PrivateCopies();
    PrivateCopies(const PrivateCopies&) = delete;
    PrivateCopies& operator=(const PrivateCopies&) = delete;

    // A new array, or nullptr when nobody has room.
    template <typename Value>
    Value* add(uint64_t count, Ledger* ledger, Ledger* reserve) {
        return static_cast<Value*>(allocate(count * sizeof(Value), ledger, reserve));
    }

  private:
    struct Array {
        Ledger* ledger;
        uint64_t charged;
        std::unique_ptr<uint64_t[]> memory;
    };
    void* allocate(uint64_t bytes, Ledger* ledger, Ledger* reserve);

    std::vector<Array> arrays_;
};

// A place for results: a block of the participant's.
struct ResultBlock {
    BlockRange range;
    Sink sink;
};

// One call's worth of results.
struct Delivery {
    BlockRange block;
    ResultBatch batch;
};

struct Task {
    MessageType type;
    uint32_t stage = 0;
    uint64_t sequence = 0;
    BatchBody batch{};                   // Append, Probe
    std::vector<ColumnBuffers> buffers;  // Append, Probe, AppendKept
    MarkMatchedBody marks{};             // MarkMatched
    bool matched = false;                // ScanBuild
    AppendKeptBody kept_rows{};          // AppendKept
    std::shared_ptr<KeptChunk> making;   // AppendKept, SealKept: what is filled
    SealKeptBody kept_seal{};            // SealKept
    ChunkMap map{};                      // SealKept
    KeptStore::Parts parts, cut_parts;   // SealKept: of columns that its columns may join
    std::unique_ptr<KeptScan> scan;      // ProbeKept, BuildKept
    std::unique_ptr<KeptLanes> lanes;    // ProbeKept, once it has begun

    std::unique_ptr<KeptBuild> build;  // BuildKept, once it has begun

    // Of the event thread.
    std::optional<uint64_t> first_row;  // number of the first row of an Append, from its first start on
    bool dropped = false;               // rewound meanwhile: to be finished without an answer
    uint64_t bytes_needed = 0;          // of the next result block; 0: any
    // Set by the event thread while a worker may be reading: results of this probe row are not wanted.
    std::atomic<int64_t> skipped_row{-1};

    // Of the worker.
    PrivateCopies copies;
    std::vector<ColumnView> views;
    std::unique_ptr<Cursor> cursor;  // destroyed before what it reads

    bool gives_results() const {
        return probes() || type == MessageType::ScanBuild || type == MessageType::Flush;
    }
    bool probes() const { return type == MessageType::Probe || type == MessageType::ProbeKept; }
    bool holds_cursor() const { return cursor || lanes; }
    bool is_slow_to_go() const { return holds_cursor() || (build && !build->is_done()); }
    // Fills a chunk, whatever becomes of the fragment.
    bool keeps() const { return type == MessageType::AppendKept || type == MessageType::SealKept; }
    bool appends() const { return type == MessageType::Append || type == MessageType::BuildKept; }
    bool builds() const { return appends() || type == MessageType::Seal; }
    // Its turn is over, but it is not done.
    bool goes_on() const { return type == MessageType::BuildKept && !build->is_done(); }
    // Build rows have numbers that others rely on: it is to be executed to its end.
    bool has_numbered() const { return first_row || (build && build->has_numbered()); }
    // Needs the fragment to itself, or in a Seal its stage.
    bool is_exclusive() const {
        return type == MessageType::Seal || type == MessageType::Rewind || type == MessageType::ScanBuild ||
               type == MessageType::Flush;
    }
    // Whether the two may not be under way at the same time. Each stage is built by itself.
    bool excludes(const Task& other) const {
        bool build_different_stages = builds() && other.builds() && stage != other.stage;
        return !build_different_stages && (is_exclusive() || other.is_exclusive());
    }
    // The block that the message handed over, nullptr for none.
    const BlockRange* block() const;
};

// The task of a message, but for what its type has of its own.
std::unique_ptr<Task> make_task(const Message& message);

// What tasks are executed with.
struct TaskContext {
    FragmentView spec;
    const Arena* arena;
    Ledger* host_memory;
    Ledger* reserve;  // once sealed: a join that has used up its memory can still be probed. Else nullptr
    Fragment* fragment;
    uint64_t build_rows;  // of the task's stage, once sealed
};

// Executes an Append, MarkMatched, Rewind, AppendKept or SealKept; or a Seal, filling report, which is for
// that alone.
Status execute(const TaskContext& context, Task& task, SealReport* report);

// Starts or goes on with a Probe, ScanBuild or Flush, filling one block after the other until its
// turn is over. Blocks are handed to deliver() as they come; the last call's outcome, which may be empty, is
// left in *last. *last->batch.done: the cursor is gone.
Status execute_cursor(const TaskContext& context, Task& task, const std::vector<ResultBlock>& blocks,
                      const std::function<void(const Delivery&)>& deliver, Delivery* last);

}  // namespace gpujoin
