// The cursors of this engine: results of a probe batch, and scans of the build side. Both fill a queue of row
// number pairs and write from it into the sinks they are given.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/counters.h"
#include "engine/cpu/columns/clustered_columns.h"
#include "engine/cpu/matcher.h"
#include "engine/cpu/results/pair_queue.h"
#include "engine/cpu/results/result_writer.h"
#include "engine/cpu/filter/term_tester.h"

namespace gpujoin::cpu {

// Candidate pairs expanded and tested at a time.
inline constexpr uint32_t kCandidates = 4096;

// A cursor's working memory, used again by later cursors of the join.
struct CursorScratch {
    PairQueue queue;
    CandidateRanges ranges;
    uint32_t probe[kCandidates];
    uint32_t build[kCandidates];
    uint8_t keep[kCandidates];
};

// Which build rows found a match: a flag a row, set from any thread. Empty where the kind of join needs none.
class MatchFlags {
  public:
    Status open(Ledger* ledger, uint64_t rows) { return flags_.allocate(ledger, rows); }
    bool is_open() const { return !flags_.empty(); }
    bool get(uint32_t row) const { return flag(row).load(std::memory_order_relaxed); }
    void set(uint32_t row) const {
        // Written once only: most rows of a hot key are set already.
        if (!get(row)) flag(row).store(1, std::memory_order_relaxed);
    }
    void clear(uint32_t row) const { flag(row).store(0, std::memory_order_relaxed); }

  private:
    std::atomic_ref<uint8_t> flag(uint32_t row) const {
        return std::atomic_ref<uint8_t>(flags_.as<uint8_t>()[row]);
    }
    HostArray flags_;
};

// What cursors need of a sealed join, which outlives them.
struct SealedJoin {
    JoinContext context;
    std::unique_ptr<Matcher> matcher;
    ClusteredColumns clustered;
    MatchFlags matched;

    // A build column as probe cursors read it: by position where columns are clustered, else by row number.
    ColumnSource probed_source(uint32_t column) const {
        return clustered.is_empty() ? context.build.source(column) : clustered.source(column);
    }

    // The numbers of build rows, where results name them; else nullptr.
    const RowNumbers* named_build_rows() const {
        return context.spec.client_decides ? &context.build.numbers() : nullptr;
    }

    std::mutex mutex;  // of the scratch that is free
    std::vector<std::unique_ptr<CursorScratch>> free_scratch;

    JoinCounters counters;
};

Status make_probe_cursor(SealedJoin& join, const BatchView& batch, std::unique_ptr<Cursor>* cursor);
Status make_scan_cursor(SealedJoin& join, bool matched, std::unique_ptr<Cursor>* cursor);

}  // namespace gpujoin::cpu
