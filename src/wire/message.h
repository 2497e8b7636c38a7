// Messages between a client (a PostgreSQL backend) and the server, over a UNIX socket of type SOCK_SEQPACKET:
// one message a packet, never split. Each is a MessageHeader, a fixed body, and a tail: for batches an array
// of ColumnBuffers, for Open a packed fragment. All of it is plain bytes of the host's own layout, since both
// ends are built together: every header says of which build it is, and others are refused. Whoever receives a
// message copies it first and checks it with the decode functions below.
//
// One connection is one participant of one session (one running fragment). Closing it is the only clean-up
// signal.
//
//   client                         server
//   Hello                          Welcome (+ the arena's descriptor unless the client has it mapped)
//   Open (packed fragment)         Opened: session, secret, the participant's two input blocks
//   OpenPart                       none: more packed bytes of an Open that did not hold all; nothing else may
//                                  come until all have
//   Attach (session, secret)       Opened: the same for a further participant (a parallel worker); followed
//                                  by Sealed for each stage that is sealed already
//   Reserve (bytes)                Grant: one more input block, of at least so many bytes (0: the ordinary
//                                  size); or Failed with the Reserve's sequence, and the session goes on
//   Append (a block, build rows)   Appended: the block is the client's again
//   Seal                           Sealed, to every participant: no more rows for this stage
//   Probe (a block, source rows)   Result ... Result (last = 1): the probe block is the client's again. Once
//                                  all stages are sealed
//   Release (a block)              none: a result block, or a granted input block, goes back
//   Skip (probe row)               none: no more rows wanted for this row of the probe with the header's
//                                  sequence; without effect when that probe is finished or not yet begun,
//                                  and where the fragment is more than a join
//   MarkMatched (block of uint64)  Marked: the block is the client's again. In a plain join
//   ScanBuild (matched?)           Result ... Result (last = 1). In a plain join
//   Flush                          Result ... Result (last = 1): the groups that are left, of all
//                                  participants' probes; they are forgotten. Where the sink has groups
//   Rewind                         Rewound: the participant's probes were dropped and their blocks are the
//                                  client's again, matches and groups forgotten, the build sides kept
//   GetStats                       Stats, at once: of the stage, and of the fragment's sink
//   GetDevices                     Devices (no session needed)
//   Calibrate                      Devices (no session needed), when all of them have been measured anew; or
//                                  Failed with the Calibrate's sequence
//   Ping (leave?)                  Pong, at once, from the thread that owns all sessions (no session needed).
//                                  A server that is to leave ends when nobody else is connected; the next
//                                  Ping may take that back
//   Cancel: close the socket       Failed with sequence 0: a Status; the session is over
//
//   Kept columns (kept.h), within a session:
//   FindKept (chunks, columns)     FoundChunks: of each a handle for the session, and what proves it; or none
//   MakeKept (chunk, columns)      FoundKept: a handle to be filled; or none, when there is no room for more
//   AppendKept (a block, rows)     Appended: the block is the client's again
//   SealKept (map of the blocks)   FoundKept: the handle if all can find it now; or none: it was given up
//   RenewKept (chunk, map)         none; the chunk is proven anew, for these of its blocks
//   ProbeKept (handle, conditions) Result ... Result (last = 1), as of a Probe of the rows that meet them
//   BuildKept (handle, conditions) FoundKept: how many rows met them and were appended to the build side
//   GetKept                        KeptTables (no session needed)
//   ForgetKept (a table, or all)   KeptTables: what is left (no session needed)
//
// Append, BuildKept, Seal, MarkMatched, ScanBuild, GetStats, Sealed and Stats name a stage of the fragment in
// their header. What a Result has: in a plain join what its spec says; else, where the sink takes rows, the
// numbers of source rows and the sink's inputs; where it has groups, their columns (group_column()), or, if
// it is flagged as undecided, the sink's inputs of escaped rows.
//
// The server handles a participant's messages in order. It never waits for a client: without a result block
// the cursor is parked until one is released. Neither side blocks in send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "wire/batch.h"
#include "wire/kept.h"
#include "wire/spec_codec.h"
#include "wire/stats.h"
#include "wire/status.h"

namespace gpujoin {

inline constexpr uint32_t kMessageMagic = 0x4e4a5047;  // "GPJN"
inline constexpr uint16_t kProtocolVersion = 2;        // of the header up to its build
inline constexpr uint32_t kMaxMessageBytes = 96u << 10;
inline constexpr uint32_t kMaxDevices = 32;
inline constexpr uint32_t kMaxCpuThreads = 4096;
inline constexpr uint32_t kMaxOpenBytes = kMaxPackedFragmentBytes;

enum class MessageType : uint16_t {
    Hello = 1,
    Welcome,
    Open,
    OpenPart,
    Attach,
    Opened,
    Reserve,
    Grant,
    Release,
    Append,
    Appended,
    Seal,
    Sealed,
    Probe,
    Result,
    Skip,
    MarkMatched,
    Marked,
    ScanBuild,
    Flush,
    Rewind,
    Rewound,
    GetStats,
    Stats,
    GetDevices,
    Devices,
    Calibrate,
    Ping,
    Pong,
    FindKept,
    FoundKept,
    MakeKept,
    AppendKept,
    SealKept,
    RenewKept,
    ProbeKept,
    BuildKept,
    GetKept,
    ForgetKept,
    KeptTables,
    FoundChunks,
    Failed,
};

struct MessageHeader {
    uint32_t magic;
    uint16_t version;
    MessageType type;
    uint32_t bytes;     // of the whole message
    uint32_t stage;     // where names_stage(): of the session, whose joins count from 0; else 0
    uint64_t build;     // kBuildId
    uint64_t session;   // 0 before Opened
    uint64_t sequence;  // Append, Probe, ScanBuild, Flush, MarkMatched, Reserve, AppendKept and ProbeKept
                        // take increasing numbers from one counter per participant, from 1 on; answers
                        // repeat it. Elsewhere 0, save in Skip.
};

// A range of the arena, in bytes from its start.
struct BlockRange {
    uint64_t offset;
    uint64_t bytes;
};

struct HelloBody {
    int32_t pid;
    uint32_t reserved;
    uint64_t mapped_arena;  // the arena id this process has mapped, 0 for none
};

struct WelcomeBody {
    uint64_t arena;        // id: differs between server processes
    uint64_t arena_bytes;  // to map
    uint64_t block_bytes;  // of a pinned block
};

// Followed by the packed fragment, or by the first bytes of it; OpenParts bring the others.
struct OpenBody {
    uint32_t stages;       // of the fragment
    uint32_t bytes;        // of the whole, packed
    uint64_t most_memory;  // bytes the session may take of host memory, and of a device's; 0: all there is
    int64_t query;         // PostgreSQL's identifier of the query, for the log; 0: it has none
    uint64_t lent_memory;  // bytes beyond that, of what is set aside for joins that find no other
};

struct AttachBody {
    uint8_t secret[16];
};

struct OpenedBody {
    uint8_t secret[16];   // to hand to further participants
    BlockRange input[2];  // granted input blocks
    char device[64];      // where it runs, for EXPLAIN
};

struct ReserveBody {
    uint64_t bytes;
};

struct GrantBody {
    BlockRange block;
};

struct ReleaseBody {
    uint64_t offset;
};

// Append, Probe and Result. Followed by `columns` ColumnBuffers, relative to the block's start: for Append
// one for each column of the stage's build side, for Probe of the source, for Result of what the fragment
// gives.
struct BatchBody {
    BlockRange block;  // Result: {0, 0} when the result has no rows
    uint32_t rows;
    uint16_t columns;
    uint8_t last;         // Result: the batch it answers is finished
    uint8_t undecided;    // Result: the join's filter program may have left some of the pairs undecided;
                          // where the sink has groups: the rows are escaped ones
    uint64_t probe_rows;  // Result: uint32[rows], or kNoBuffer
    uint64_t build_rows;  // Result: uint64[rows], or kNoBuffer
    uint32_t complete;    // Result: groups, none of which has come before or comes again
    uint32_t moved;       // Result: the fragment has moved to the CPU engine (see JoinStats)
};

struct SkipBody {
    uint32_t probe_row;
    uint32_t reserved;
};

struct MarkMatchedBody {
    BlockRange block;
    uint64_t rows;  // uint64[rows] at the block's start
};

struct ScanBuildBody {
    uint8_t matched;
    uint8_t reserved[7];
};

struct StatsBody {
    JoinStats join;  // of the stage
    SinkStats sink;  // of the fragment
};

struct PingBody {
    uint32_t leave_when_idle;  // 1: the server is to make room for another one
    uint32_t reserved;
};

struct DeviceBody {
    char engine[8];
    char name[64];
    char state[160];
    int32_t number;
    uint32_t processors;
    uint64_t memory;
    uint64_t free_memory;
    uint64_t join_memory;  // that joins may take in all, of a GPU
    uint64_t used_memory;  // charged to joins now
    uint32_t sessions;     // joins now
    uint32_t reserved;
    EngineRates rates;
};

struct DevicesBody {
    uint32_t count;
    uint32_t reserved;
    uint64_t staging_used;  // bytes of pinned blocks granted
    uint64_t staging_bytes;
    uint64_t host_used;
    uint64_t host_bytes;
    uint64_t keep_bytes;  // what kept columns may take; 0: none are kept
    DeviceBody device[kMaxDevices];
};

// FindKept, MakeKept. Followed by the columns that are wanted, or are to be made: for a scan those of the
// fragment's source, in their order, then others that conditions test.
struct ChunkBody {
    ChunkKey chunk;
    uint64_t bytes;    // MakeKept: about how many the chunk will take
    uint32_t columns;  // KeptColumns that follow
    uint32_t rows;     // MakeKept: about how many the chunk will have
    uint32_t chunks;   // FindKept: how many, from this one on; 1 to kMaxFoundChunks
    uint32_t reserved;
};

struct FoundKeptBody {
    uint64_t rows;
    uint32_t handle;  // from 1 on; 0: none
    uint32_t reserved;
};

// Followed by the chunks that were asked for, in their order.
struct FoundChunksBody {
    uint32_t chunks;
    uint32_t reserved;
};

// Like an Append. The rows are those of `blocks` blocks of the chunk, from first_block on; how many each has
// stands in the block of memory too.
struct AppendKeptBody {
    BlockRange block;
    uint32_t rows;
    uint16_t columns;  // ColumnBuffers that follow, one for each column of the MakeKept
    uint16_t reserved;
    uint32_t handle;
    uint32_t first_block;
    uint32_t blocks;
    uint32_t reserved2;
    uint64_t block_rows;  // uint16[blocks]
};

// Followed by the map of the blocks whose rows were appended, unless it is given up.
struct SealKeptBody {
    ChunkProof proof;
    uint32_t handle;
    uint32_t keep;  // 0: gives up
};

// Of the map's blocks those count that the chunk had before. Nothing happens if it is another one by now.
struct RenewKeptBody {
    ChunkKey chunk;
    uint64_t version_before;
    ChunkProof proof;
    ChunkMap map;
    uint8_t reserved[3];
};

// ProbeKept, BuildKept. Followed by the conditions, then the chunks, of which there is one at least.
struct ScanKeptBody {
    uint32_t conditions;
    uint32_t chunks;
};

// All chunks of a table; relation 0: of all tables.
struct ForgetKeptBody {
    ChunkKey table;  // its number is ignored
};

struct KeptTable {
    ChunkKey table;  // number: how many chunks
    uint64_t rows;
    uint64_t bytes;
    uint64_t uses;
    uint32_t columns;  // of the chunk with the most
    uint32_t reserved;
};

inline constexpr uint32_t kMaxKeptTables = 1024;

struct KeptTablesBody {
    uint64_t used;  // bytes
    uint64_t limit;
    uint32_t count;
    uint32_t reserved;
    KeptTable table[kMaxKeptTables];
};

// A received message, checked. Points into the receiver's private copy of the packet.
struct Message {
    const MessageHeader* header = nullptr;
    const void* body = nullptr;
    std::span<const ColumnBuffers> columns;     // Append, Probe, Result, AppendKept
    std::span<const std::byte> packed;          // Open, OpenPart
    std::span<const ChunkColumn> kept_columns;  // FindKept, MakeKept
    std::span<const KeptCondition> conditions;  // ProbeKept, BuildKept
    std::span<const ScannedChunk> scanned;      // ProbeKept, BuildKept
    std::span<const FoundChunk> found;          // FoundChunks
    const ChunkMap* map = nullptr;              // SealKept; nullptr: there is none

    template <typename Body>
    const Body& as() const {
        return *static_cast<const Body*>(body);
    }
};

// Checks magic, version, type, that `bytes` is the header's and the body's size, and copies nothing: packet
// must be the receiver's own, aligned to 8 bytes. Does not check meaning (ranges, column counts): the
// receiver knows what it has.
Status decode(std::span<const std::byte> packet, Message* message);

// Writes a message into buffer (aligned to 8 bytes, at least kMaxMessageBytes) and returns its size.
// body_size is that of the fixed body of that type; a tail only where the type has one.
uint32_t encode(MessageType type, uint64_t session, uint64_t sequence, const void* body, uint32_t body_size,
                std::span<const std::byte> tail, std::byte* buffer, uint32_t stage = 0);

// Size of the fixed body of a type, UINT32_MAX for an unknown type.
uint32_t body_bytes(MessageType type);

// Whether messages of a type are about one stage, by their header. Others say 0 there.
bool names_stage(MessageType type);

// Writes a text into a body, with the zero that ends it, as far as there is room.
template <size_t size>
void copy_text(std::string_view text, char (&target)[size]) {
    target[text.copy(target, size - 1)] = '\0';
}

}  // namespace gpujoin
