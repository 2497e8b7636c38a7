// The inside of a client, for the files that talk to the server through it.
#pragma once

#include "pg/client/arena.h"
#include "pg/client/channel.h"
#include "pg/client/block.h"

namespace gpujoin {

inline constexpr int kInputBlocks = 8;
inline constexpr int kMaxUnfinished = kInputBlocks + 1;

enum class BlockState { Free, Taken, Sent, Spare };  // Spare: done with, to be given back

struct InputBlock {
    BlockRange range;
    BlockState state;
    bool is_extra;        // asked for because of its size: given back when done
    MessageType sent_as;  // Append, Probe, MarkMatched or AppendKept
    uint64 sequence;
};

// A probe, scan of the build side or flush that still gives results.
struct Unfinished {
    uint64 sequence;
    bool names_probe_rows;
};

struct ResultShape {
    ColumnSpec* columns;
    int count;
};

struct QueuedResult {
    QueuedResult* next;
    uint64 sequence;
    BatchBody body;
    ColumnBuffers columns[FLEXIBLE_ARRAY_MEMBER];
};

struct Client {
    MemoryContext context;  // of its own, below the caller's
    MemoryContextCallback on_reset;
    Channel channel;
    Arena* arena;
    SessionKey key;
    char device[sizeof(OpenedBody::device)];

    FragmentView fragment;
    // What results look like. A sink of groups also gives escaped rows.
    ResultShape results;
    ResultShape escaped_rows;
    bool names_probe_rows;
    bool has_build_rows;

    uint64 last_sequence;
    InputBlock blocks[kInputBlocks];
    int block_count;
    Unfinished unfinished[kMaxUnfinished];  // oldest first
    int unfinished_count;
    QueuedResult* first_result;
    QueuedResult* last_result;
    QueuedResult* handed_out;

    // The one question under way, and its answer. Failed answers a question that may be refused.
    MessageType expected;
    uint64 expected_sequence;
    bool is_answered;
    bool is_refused;
    union {
        GrantBody grant;
        StatsBody stats;
        FoundKeptBody found;
        Status refusal;
    } answer;
    uint32 expected_stage;
    std::span<FoundChunk> found;  // where the answer to a FindKept goes
    bool is_sealed[kMaxStages];

    // A refusal of memory ends the session, and is an error unless it is kept.
    bool keeps_refusal;
    bool was_refused;
    Status refusal;
    SealReport seal_reports[kMaxStages];
};

// Sends a message, waiting for room if need be. Nothing after a refusal.
void send_message(Client* client, MessageType type, uint64 sequence, const void* body,
                  std::span<const std::byte> tail = {}, uint32 stage = 0);

struct Inquiry {
    MessageType type;
    const void* body = nullptr;
    std::span<const std::byte> tail = {};
    uint32 stage = 0;
};

// Sends a question and waits for its answer. False when it was refused.
bool ask(Client* client, const Inquiry& question, MessageType expected);
// Files away what there is of chunks; false where it is not of as many as were asked for.
bool take_found_chunks(Client* client, const Message& message);

// Numbers a message that gives a taken block to the server.
uint64 hand_over(Client* client, const Block* block, MessageType type);

// Results come under that number.
void add_unfinished(Client* client, uint64 sequence, bool names_probe_rows);

[[noreturn]] void report_malformed(const char* detail);

}  // namespace gpujoin
