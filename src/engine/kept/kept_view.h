// KeptView: a chunk as one scan wants it: its columns, which may lie in several KeptChunks of the same rows,
// of the types that the scan's source has them in; the conditions; and the blocks whose rows are wanted. Rows
// that meet the conditions are laid side by side, some at a time, as a batch of the source.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "engine/kept/kept_chunk.h"

namespace gpujoin {

struct KeptView {
    std::vector<std::shared_ptr<const KeptChunk>> chunks;  // that the columns are in, of the same rows
    std::vector<const KeptValues*> columns;                // as they were asked for

    const KeptChunk& rows_of() const { return *chunks.front(); }
    bool operator==(const KeptView&) const = default;
};

struct KeptScan {
    KeptView view;
    std::vector<KeptCondition> conditions;
    ChunkMap map;  // of the blocks whose rows are wanted
};

// 08P01 where a condition is on a column that is not there or has no integers, or the first columns cannot be
// given as those of the source.
Status validate_kept_scan(const KeptScan& scan, std::span<const ColumnSpec> source);

// How far those have come who share the rows of a scan among themselves.
struct KeptPosition {
    std::atomic<uint64_t> next_row{0};  // of the chunk
};

// Gives rows of a scan that nobody else has had, batch after batch, in memory that is charged to the ledger.
// Used by one thread at a time.
class KeptRows {
  public:
    // The scan is valid, and outlives this, as do the position and the ledger. most_rows: of a batch.
    KeptRows(const KeptScan& scan, KeptPosition& position, std::span<const ColumnSpec> source,
             uint32_t most_rows, Ledger* ledger);
    ~KeptRows();
    KeptRows(const KeptRows&) = delete;
    KeptRows& operator=(const KeptRows&) = delete;

    // The next rows; none at the end. The view is valid until the next call. 53200 where the ledger has no
    // room.
    Status next(BatchView* batch);

  private:
    struct Output {
        ColumnSpec spec;
        std::vector<std::byte> values;
        std::vector<uint32_t> offsets;  // Bytes
        std::vector<std::byte> data;    // Bytes
        std::vector<uint8_t> validity;
        bool has_nulls = false;
    };

    uint32_t most_rows() const;
    bool has_room(uint64_t bytes) const;
    Status set_aside();
    uint32_t select(uint64_t first, uint64_t end);
    uint32_t select_wanted(uint64_t first, uint64_t end);
    Status gather(uint32_t count);
    void gather_validity(Output& output, const KeptValues& values, uint32_t count) const;
    Status gather_bytes(Output& output, const KeptValues& values, uint32_t count);
    bool charge(uint64_t bytes);

    const KeptScan& scan_;
    KeptPosition& position_;
    const std::span<const ColumnSpec> source_;
    const uint32_t most_rows_;
    Ledger* const ledger_;
    uint64_t charged_ = 0;
    bool wants_all_;         // rows of all blocks that the chunk has
    uint32_t block_ = 0;     // that has the row that was looked at last
    uint32_t capacity_ = 0;  // of a batch; 0: nothing was set aside
    uint32_t rows_at_a_time_ = 0;
    uint32_t rows_ = 0;  // in the batch
    std::vector<uint32_t> selected_;
    std::vector<Output> outputs_;
    std::vector<ColumnView> views_;
};

}  // namespace gpujoin
