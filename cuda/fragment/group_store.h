// GroupStore: groups that are kept on the device, a column a piece of memory, which doubles as they become
// more. NULLs have a flag each, and zero bytes.
#pragma once

#include <span>
#include <vector>

#include "cuda/fragment/gather_picked.h"

namespace gpujoin::cuda {

class GroupStore {
  public:
    explicit GroupStore(std::span<const ColumnSpec> columns);

    // Makes room for so many groups in all. What is refused leaves the groups as they are.
    Status make_room(const WorkContext& context, uint64_t groups);

    // Writes columns of the next groups, for which there is room: the values of picked rows. Nothing counts
    // before add(). from: by column; those without values are left alone.
    Status write(const WorkContext& context, std::span<const PickedView> from, RowChoice choice,
                 uint64_t groups);
    // Adds so many groups, whose columns are all written or will be.
    void add(uint64_t groups);
    void clear();

    uint64_t groups() const { return groups_; }
    // As results have them.
    std::vector<PickedView> views() const;
    std::byte* values(uint32_t column) const { return columns_[column].values.data(); }
    uint8_t* null_flags(uint32_t column) const { return columns_[column].null_flags.data(); }
    // Changes whenever the memory of a column does.
    uint64_t version() const { return version_; }

  private:
    struct Column {
        ColumnSpec spec;
        DeviceArray<std::byte> values;  // or where they begin in the data
        DeviceArray<uint8_t> null_flags;
        DeviceArray<std::byte> data;
        uint64_t data_bytes = 0;      // of the groups
        uint64_t new_data_bytes = 0;  // of those that are written, too
    };

    Status grow(const WorkContext& context, uint64_t capacity);
    Status write_texts(const WorkContext& context, std::span<const PickedView> from, RowChoice choice,
                       uint64_t groups);
    Status make_data_room(const WorkContext& context, Column* column, uint64_t bytes);

    std::vector<Column> columns_;
    uint64_t capacity_ = 0;
    uint64_t groups_ = 0;
    uint64_t version_ = 0;
};

}  // namespace gpujoin::cuda
