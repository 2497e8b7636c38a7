// The engine contract: one interface for every way to execute a join, and the only thing the server knows of
// the CPU and the CUDA engine. An engine knows columns of canonical bytes, not SQL types.
//
//   open → append … append → seal → probe/cursor … → scan_build/cursor → (rewind → probe …) → destroy
//
// Every algorithm gives the same rows. The order of matches within one probe row is unspecified but fixed
// once sealed. No function throws: allocation failures and device errors come back as a Status. What may take
// longer than some milliseconds takes turns with other calls (turn.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/ledger.h"
#include "wire/batch.h"
#include "wire/join_spec.h"
#include "wire/stats.h"
#include "wire/status.h"

namespace gpujoin {

// What a join may use. Pointers are not owned and outlive the join.
struct Limits {
    Ledger* host_memory = nullptr;
    Ledger* device_memory = nullptr;            // CUDA engine only
    const std::atomic<bool>* cancel = nullptr;  // polled; once true, every call soon returns Fault::Cancelled
};

// Where a cursor writes: memory of the client's, normally a block. The engine lays out the columns inside.
struct Sink {
    std::byte* memory = nullptr;
    uint64_t bytes = 0;
    Memory kind = Memory::Host;
};

// What a cursor wrote: rows in the order that seal() reported, buffers in bytes from the start of the sink.
struct ResultBatch {
    uint32_t rows = 0;
    bool done = false;          // the cursor has no more rows
    bool undecided = false;     // the filter program may have left some of the pairs undecided
    bool complete = false;      // groups, none of which has come before or comes again
    uint64_t bytes_needed = 0;  // > 0, with no rows: the next row alone needs a sink of this many bytes
    // uint32[rows]: row number in the probe batch; only where they are named, and not in scan_build
    uint64_t probe_rows = kNoBuffer;
    uint64_t build_rows = kNoBuffer;     // uint64[rows]: row numbers; only with client_decides
    uint64_t bytes = 0;                  // of the sink that were used
    std::vector<ColumnBuffers> columns;  // one per spec.output (then one per spec.carry)
};

// The results of one probe batch, or of one scan of the build side. Used by one thread at a time. The batch
// it reads must stay as it is until the cursor is destroyed; the cursor must be destroyed before its join.
class Cursor {
  public:
    virtual ~Cursor() = default;

    // Writes as many of the next rows as fit, or as were found when its turn was over, perhaps none.
    // Resumable anywhere, also inside one probe row's matches. A row of which not even one fits is reported
    // through bytes_needed and returned by the next call with a larger sink.
    virtual Status next(const Sink& sink, ResultBatch* result) = 0;

    // Gives no further rows for this probe row: the client has decided it. Rows before it are already
    // decided.
    virtual void skip(uint32_t probe_row) = 0;
};

// Takes a batch of build rows, and the number of its first row.
using BuildConsumer = std::function<Status(const BatchView& batch, uint64_t first_row)>;

class Join {
  public:
    virtual ~Join() = default;

    // Adds build rows, numbered from first_row on. Any thread, several at once, in any order. Batches are
    // copied before it returns, but for values in device memory that stay: these are at multiples of 64
    // bytes, and not charged to the join. In device memory they must be there when it is called. A batch that
    // fails is left out as a whole.
    virtual Status append(const BatchView& batch, uint64_t first_row) = 0;

    // Ends the build side: chooses the algorithm from counted facts and builds. Once, after every append
    // returned. Fails with XX000 unless the rows are numbered 0, 1 … n - 1, each once.
    virtual Status seal(SealReport* report) = 0;

    // Starts the join of a batch of probe rows. Several threads may probe at once.
    virtual Status probe(const BatchView& batch, std::unique_ptr<Cursor>* cursor) = 0;

    // Marks build rows as matched, by their numbers (client_decides).
    virtual Status mark_matched(std::span<const uint64_t> build_rows) = 0;

    // Starts the scan of the build rows that have (matched) or have not (!matched) found a match so far.
    // Build columns come as in probe(); rows with NULL keys count as unmatched. After every probe has
    // finished.
    virtual Status scan_build(bool matched, std::unique_ptr<Cursor>* cursor) = 0;

    // Forgets all matches; the build side stays. No cursor may be left.
    virtual Status rewind() = 0;

    // Hands every appended row out again, in batches of at most kMaxBatchRows in host memory, in any order,
    // and stops at the first failure. How a join that does not fit its device moves to the CPU engine; also
    // after a failed append (whose batch is not included) or seal.
    virtual Status export_build(const BuildConsumer& consumer) = 0;

    // Figures so far. Any thread at any time, also during other calls; never waits for one.
    virtual JoinStats stats() const = 0;
};

// What an engine runs on.
struct DeviceDescription {
    std::string engine;   // "cpu" or "cuda"
    std::string name;     // "NVIDIA H100 80GB HBM3", or the processor's model
    int number = -1;      // CUDA device number; -1 for the CPU
    uint64_t memory = 0;  // bytes in all
    uint64_t free_memory = 0;
    int capability = 0;        // of a GPU: its compute capability, 75 for 7.5
    uint32_t processors = 0;   // multiprocessors, or threads
    std::string state;         // "ready", or why it cannot be used
    uint64_t join_memory = 0;  // bytes of a GPU that joins may take in all
};

class Fragment;       // fragment.h
struct FragmentView;  // wire/fragment_spec.h
class KeptReader;     // kept/kept_view.h
class KeptBuildReader;
struct KeptPosition;
struct KeptScan;

// How kept rows are best read: by how many readers at once, at most, in batches of how many rows.
struct KeptMeasure {
    uint64_t readers;
    uint32_t rows;
};

class Engine {
  public:
    virtual ~Engine() = default;
    // The spec is valid (validate()) and copied.
    virtual Status open(const JoinSpec& spec, const Limits& limits, std::unique_ptr<Join>* join) = 0;
    // A chain of joins and their sink; the same of its spec. The engine outlives it. Composed of the engine's
    // joins, with the rows between them in host memory, where an engine has nothing better.
    virtual Status open_fragment(const FragmentView& fragment, const Limits& limits,
                                 std::unique_ptr<Fragment>* opened);
    // What suits this engine; by default any number of readers, with rows that stay in a processor's cache
    // between stages.
    virtual KeptMeasure kept_measure() const { return {UINT64_MAX, 64u << 10}; }
    // Reads kept rows in batches of at most most_rows, as this engine's fragments are best given them; in
    // host memory, where it has nothing better. The scan is valid for the source; all that is named outlives
    // the reader.
    virtual std::unique_ptr<KeptReader> read_kept(const KeptScan& scan, KeptPosition& position,
                                                  std::span<const ColumnSpec> source, uint32_t most_rows,
                                                  const Limits& limits);
    // The same for rows that are appended to the build side of a join, which has these limits.
    virtual KeptMeasure kept_build_measure(const Limits&) const { return {UINT64_MAX, kTargetBatchRows}; }
    virtual std::unique_ptr<KeptBuildReader> read_kept_build(const KeptScan& scan, KeptPosition& position,
                                                             std::span<const ColumnSpec> build,
                                                             uint32_t most_rows, const Limits& limits);
    // Pins the staging memory for DMA, once, before the first join. The memory outlives the engine.
    virtual Status pin(std::byte* memory, uint64_t bytes) = 0;
    virtual DeviceDescription describe() const = 0;
};

// The engine on this machine's processors. threads: 0 for all of them.
std::unique_ptr<Engine> make_cpu_engine(uint32_t threads);

// What CPU engines may keep, all together, of the memory of joins that are over, for joins to come; it is
// charged to no ledger. Until this is called: 64 MB.
void limit_spare_memory(uint64_t bytes);

}  // namespace gpujoin
