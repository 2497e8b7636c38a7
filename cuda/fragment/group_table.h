// GroupTable: groups and their aggregates on the device, as one batch at a time adds to them. It takes pieces
// of the rows as long as there is room; when it is full, its groups are given out and it begins again.
#pragma once

#include "cuda/fragment/group_index.h"
#include "cuda/fragment/one_pass.h"
#include "cuda/fragment/group_totals.h"

namespace gpujoin::cuda {

class GroupTable {
  public:
    explicit GroupTable(const DeviceSink& sink);

    // Adds the live rows of a piece, over which the programs have run. inputs: as in the piece, in host
    // memory. Full: nothing was added, for there is no room, but there would be in an empty table, or for a
    // smaller piece. So it is where this fails with Fault::DeviceMemory.
    Status add(const WorkContext& context, const RowPiece& piece, std::span<const PickedView> inputs,
               const SinkValues& values, bool* is_full);

    // How many of the next rows are best added at once: few, while it is not known how many groups are new.
    uint32_t rows_at_once(uint32_t rows) const;
    // Whether rows had better be added in one pass.
    bool takes_one_pass() const { return grows_in_pass_ || (expects_known_ && store_.groups() > 0); }
    // Adds rows of a piece in one pass (one_pass.h). left: which are not added, and how many.
    Status add_in_one_pass(const WorkContext& context, const RowPiece& piece,
                           std::span<const PickedView> inputs, DeviceArray<uint32_t>* left,
                           uint32_t* left_count);

    // Merges the groups of another table into this one, those first that it begins with; none where sums of
    // floats would leave their range. What fails with Fault::DeviceMemory leaves each group in one of them.
    Status merge(const WorkContext& context, GroupTable* other);

    // Before groups are read; clear() follows.
    Status close(const WorkContext& context) { return totals_.close(context); }
    void clear();
    // Also what it has found out about rows.
    void forget();
    // Gives back what it has for the rows of a piece alone.
    void release() { index_.release(); }

    uint32_t groups() const { return static_cast<uint32_t>(store_.groups()); }
    // Its first groups, which are in another table.
    uint32_t merged() const { return merged_; }
    // The columns of groups, as results have them.
    std::vector<PickedView> columns() const;

  private:
    // What a pass has done, on the device.
    struct PassCounts {
        uint32_t left;      // rows
        uint32_t begun;     // groups
        uint32_t promised;  // and how many of them threads hold room for
    };

    // Has a group for each of the live rows, in which the groups' columns are those of from_. Full: there
    // would be too many.
    Status find_groups(const WorkContext& context, const RowPiece& piece, const uint16_t* keys,
                       const uint32_t* live, bool* is_full);
    Status begin_groups(const WorkContext& context, uint32_t new_groups);
    void note_inputs(std::span<const PickedView> inputs);
    // One pass over rows whose groups are known, or are begun where they are not.
    Status run_known(const WorkContext& context, const RowPiece& piece, std::span<const PickedView> inputs,
                     uint32_t* left);
    Status run_growing(const WorkContext& context, const RowPiece& piece, std::span<const PickedView> inputs,
                       uint32_t* left);
    RowKeys row_keys(const RowPiece& piece, std::span<const PickedView> inputs) const;
    Status find_totals(const WorkContext& context, KnownTotals* totals);
    uint64_t room_for(uint64_t rows) const;
    void note_pass(uint64_t rows, const PassCounts& counts);
    void note_growth(uint64_t rows, uint64_t begun);
    Status merge_piece(const WorkContext& context, GroupTable* other, uint32_t rows);
    Status refresh(const WorkContext& context);

    const DeviceSink& sink_;
    const uint64_t most_groups_;
    const bool goes_in_one_pass_;
    const bool grows_in_pass_;  // which begins groups as well
    bool expects_known_ = false;
    bool knows_nearly_all_ = false;
    double new_share_ = 1;         // rows that began a group when some were begun last
    uint32_t patience_ = 0;        // how many pieces go by, and one more, before one pass is tried again
    uint32_t pieces_to_wait_ = 0;  // of these
    uint64_t sample_rows_;
    uint32_t merged_ = 0;
    GroupStore store_;
    GroupIndex index_;
    GroupTotals totals_;
    DeviceArray<PickedView> stored_;  // the store's columns
    uint64_t version_ = 0;            // of the store
    std::vector<PickedView> from_;    // by column of the store: the input whose value a group keeps
    DeviceArray<PassCounts> counts_;
    DeviceArray<uint32_t> all_;  // words of bits, all set: the rows of pieces that are merged
};

}  // namespace gpujoin::cuda
