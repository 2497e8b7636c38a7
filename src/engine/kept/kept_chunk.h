// KeptChunk: some columns of a chunk's rows (wire/kept.h), in host memory. It is filled batch by batch, in
// the order of its blocks, then sealed, and read by many from then on. All columns have the same rows, those
// of the blocks that were appended.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/kept/kept_values.h"
#include "engine/ledger.h"
#include "wire/batch.h"
#include "wire/kept.h"
#include "wire/status.h"

namespace gpujoin {

class KeptChunk {
  public:
    static constexpr uint64_t kFixedBytes =
        (uint64_t{kChunkBlocks} + 1) * sizeof(uint32_t) + sizeof(ChunkMap);  // without rows

    // What the chunk has is charged to the ledger, which outlives it. It has failed where that has no room.
    KeptChunk(std::span<const ChunkColumn> columns, Ledger* ledger);
    ~KeptChunk();
    KeptChunk(const KeptChunk&) = delete;
    KeptChunk& operator=(const KeptChunk&) = delete;

    // Sets memory aside for so many rows, where there is room.
    void expect(uint64_t rows);
    // Adds the rows of the blocks from first_block on, of which block_rows says how many each has: blocks
    // behind all that came before. The batch has a column for each of the chunk's, and is in host memory.
    // 53200 where the ledger has no room, 08P01 where it does not add up; the chunk is of no more use then.
    Status append(const BatchView& batch, uint32_t first_block, std::span<const uint16_t> block_rows);
    // Rows of it are missing: it is not to be used.
    void fail() { failed_ = true; }
    bool has_failed() const { return failed_; }
    // After that it stays as it is.
    void seal();

    uint64_t rows() const { return first_row_.back(); }
    // Of a block; for kChunkBlocks the number of rows.
    uint64_t first_row(uint32_t block) const { return first_row_[block]; }
    std::span<const uint32_t> first_rows() const { return first_row_; }  // of all of these
    uint32_t block_of(uint64_t row) const;                               // that has the row
    const ChunkMap& blocks_with_rows() const { return blocks_with_rows_; }
    // A copy of the rows of those blocks that another chunk has rows of, charged to the same ledger: columns
    // of the two have the same rows then. nullptr where it has other numbers of rows, or there is no room.
    std::shared_ptr<const KeptChunk> cut_to(const KeptChunk& other) const;
    bool has_rows_of(const KeptChunk& other) const { return first_row_ == other.first_row_; }
    uint64_t bytes() const;
    const std::vector<KeptValues>& columns() const { return columns_; }

  private:
    // Rows that lie one behind the other.
    struct Run {
        uint64_t first;
        uint64_t rows;
    };
    bool find_runs(const KeptChunk& other, std::vector<Run>* runs) const;
    bool begin_as(const KeptChunk& from, uint64_t rows);
    bool append_run(const KeptChunk& from, const Run& run);
    bool append_stored(KeptValues& values, const KeptValues& from, const Run& run);
    bool append_bounds_of(KeptValues& values, const KeptValues& from, const Run& run);
    bool append_column(KeptValues& values, const ColumnView& view, uint64_t rows);
    bool append_validity(KeptValues& values, const uint8_t* bits, uint64_t rows);
    bool append_bounds(KeptValues& values, const ColumnView& view, uint64_t rows);

    Ledger* const ledger_;
    std::vector<KeptValues> columns_;
    std::vector<uint32_t> first_row_;  // by block, kChunkBlocks + 1 of them
    ChunkMap blocks_with_rows_{};
    uint32_t next_block_ = 0;
    uint64_t rows_so_far_ = 0;
    bool is_charged_;  // for kFixedBytes
    bool failed_;
};

}  // namespace gpujoin
