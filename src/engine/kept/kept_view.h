// KeptScan: chunks as one scan wants them: their columns, which may lie in several KeptChunks of the same
// rows, the conditions, and the blocks whose rows are wanted. Rows that meet the conditions are laid side by
// side, some at a time, as a batch of the source, in the types that it has the columns in.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/cpu/memory/host_array.h"
#include "engine/kept/kept_chunk.h"

namespace gpujoin {

struct KeptView {
    std::vector<std::shared_ptr<const KeptChunk>> chunks;  // that the columns are in, of the same rows
    std::vector<const KeptValues*> columns;                // as they were asked for

    const KeptChunk& rows_of() const { return *chunks.front(); }
    bool operator==(const KeptView&) const = default;
};

// Rows of a chunk in a scan that lie one behind the other.
struct KeptPart {
    KeptView view;
    ChunkMap map;        // of the blocks whose rows are wanted
    uint64_t first_row;  // of the scan's rows
    uint64_t begin;      // the same one, of the chunk's
    uint64_t rows;
    uint32_t number;  // of the chunk in its table
    bool wants_all;   // rows of all blocks that the chunk has

    uint64_t end_row() const { return first_row + rows; }
    uint64_t row_of_chunk(uint64_t row_of_scan) const { return row_of_scan - first_row + begin; }
    // Of the rows' values of a Bytes column, about and at most; 0 of another one.
    uint64_t data_bytes(size_t column) const;
    uint64_t most_data_bytes(size_t column) const;
};

// The rows of a scan are those of its parts, one part behind the other, wanted or not.
struct KeptScan {
    std::vector<KeptPart> parts;
    std::vector<KeptCondition> conditions;

    void add(KeptView view, const ChunkMap& map, uint32_t number);
    // Rows of the part behind all others, whatever rows of the scan they were.
    void add(const KeptPart& part);
    // Skips stretches of rows of which none meets the conditions, by their bounds. Returns how many rows that
    // are. To be called once, when the scan has all its parts and is valid.
    uint64_t skip_stretches();
    uint64_t rows() const { return parts.empty() ? 0 : parts.back().end_row(); }
    // The part that a row is of.
    const KeptPart& part_of(uint64_t row) const;
    // How many rows a batch is to have at most, a power of two less than most_rows if need be, so that the
    // Bytes columns among the first ones have no more than so many bytes on average. Not less than fewest.
    uint32_t rows_within(uint64_t bytes, size_t columns, uint32_t most_rows, uint32_t fewest) const;

  private:
    void add_passing(const KeptPart& part);
    bool may_pass_in(const KeptView& view, uint64_t stretch) const;
};

// 08P01 where a condition is not sound, or is on a column that is not there or of another kind, or the first
// columns of a part cannot be given as those of the source.
Status validate_kept_scan(const KeptScan& scan, std::span<const ColumnSpec> source);

struct KeptShare;

// How far those have come who share the rows of a scan among themselves.
struct KeptPosition {
    std::atomic<uint64_t> next_row{0};  // of the scan
    // What each of several devices reads of it (engine/replicated), which the first reader settles.
    std::once_flag is_shared;
    std::shared_ptr<std::vector<KeptShare>> shares;
};

// The chunks of a scan that are one device's.
struct KeptShare {
    KeptScan scan;
    KeptPosition position;
};

// Gives rows of a scan that nobody else has had, batch after batch. Used by one thread at a time.
class KeptReader {
  public:
    virtual ~KeptReader() = default;
    // The next rows; none at the end. The view is valid until the next call, before which all work with it
    // has ended. 53200 where there is no room for a batch; it may be called again then.
    virtual Status next(BatchView* batch) = 0;
    // Whether it has taken rows. If not, and there is no memory for a batch, others may read them all.
    virtual bool has_begun() const = 0;
};

// One whose batches are appended to a join that may have to leave its device meanwhile.
class KeptBuildReader : public KeptReader {
  public:
    // From now on batches are in host memory, and it has nothing on the device any more. A batch in host
    // memory stays valid. again: what it gave last, in device memory, is given once more, by itself, perhaps
    // in several batches.
    virtual void leave_device(bool again) = 0;
};

// Gives them in host memory that is charged to the ledger.
class KeptRows final : public KeptBuildReader {
  public:
    // The scan is valid, and outlives this, as do the position and the ledger. most_rows: of a batch.
    KeptRows(const KeptScan& scan, KeptPosition& position, std::span<const ColumnSpec> source,
             uint32_t most_rows, Ledger* ledger);
    ~KeptRows() override;
    KeptRows(const KeptRows&) = delete;
    KeptRows& operator=(const KeptRows&) = delete;

    Status next(BatchView* batch) override;
    // From now on, before rows that nobody has had: these, which the caller has taken from the position.
    void read_first(uint64_t first, uint64_t end);
    bool has_begun() const override { return capacity_ > 0 || next_ < end_; }
    void leave_device(bool) override {}

  private:
    struct Output {
        ColumnSpec spec;
        cpu::HostArray values;  // or offsets
        cpu::HostArray data;    // Bytes
        cpu::HostArray validity;
        bool has_nulls = false;
    };

    uint64_t array_bytes(uint64_t rows) const;
    bool has_room(uint64_t bytes) const;
    Status set_aside();
    void leave_room();
    Status read_batch();
    Status set_aside(size_t column);
    bool take_rows();
    Status read_some();
    Status read_up_to(uint64_t stop);
    uint32_t select(const KeptPart& part, uint64_t first, uint64_t end);
    uint32_t select_wanted(const KeptPart& part, uint64_t first, uint64_t end);
    Status gather(const KeptPart& part, uint32_t count);
    void gather_validity(Output& output, const KeptValues& values, uint32_t count) const;
    bool are_run(uint32_t count) const;
    Status gather_texts(Output& output, const KeptValues& values, uint32_t count) const;
    Status gather_run_of_texts(Output& output, const KeptValues& values, uint32_t count) const;
    template <typename Entries>
    Status gather_entries(Output& output, const KeptValues& values, uint32_t count,
                          const Entries& entries) const;
    Status grow_texts(Output& output, uint64_t bytes) const;

    const KeptScan& scan_;
    KeptPosition& position_;
    const std::span<const ColumnSpec> source_;
    const uint32_t most_rows_;
    Ledger* const ledger_;
    uint64_t charged_ = 0;   // for what is no HostArray
    uint64_t next_ = 0;      // of the scan's rows that were taken from the position
    uint64_t end_ = 0;       // of these
    uint32_t capacity_ = 0;  // of a batch; 0: nothing was set aside
    uint32_t rows_at_a_time_ = 0;
    uint32_t rows_ = 0;     // in the batch
    bool is_full_ = false;  // for want of memory for more
    std::vector<uint32_t> selected_;
    std::vector<uint8_t> places_;
    std::vector<Output> outputs_;
    std::vector<ColumnView> views_;
};

}  // namespace gpujoin
