// The build side on the device: every batch that was appended, and from seal on each column in one piece.
//
// Appending uploads a batch into arrays of its own, so nothing is copied when the build side grows; fixed
// columns that already lie on the device stay where they are. Sealing joins the pieces column by column and
// gives a column's pieces back before the next is begun: at no time is more than one column there twice, of
// those that were uploaded. The data of Bytes columns is never moved: rows hold addresses.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "cuda/columns/columns.h"

namespace gpujoin::cuda {

class BuildSide {
  public:
    explicit BuildSide(std::span<const ColumnSpec> specs) : specs_(specs.begin(), specs.end()) {}

    // Adds a batch. Thread-safe; the context's stream has been waited for on return.
    Status append(const UploadContext& context, const BatchView& batch);

    // Brings every column into one piece. Not together with append().
    Status concatenate(const UploadContext& context);

    // Hands out every row in host memory, in row order, in batches of at most kMaxBatchRows.
    Status export_rows(const UploadContext& context, const std::function<Status(const BatchView&)>& consumer);

    uint64_t rows() const { return rows_; }
    uint64_t data_bytes() const { return data_bytes_; }  // of all Bytes columns
    // After concatenate().
    DeviceColumn column(uint32_t number) const { return whole_[number].view(specs_[number]); }

  private:
    struct Piece {
        uint64_t rows = 0;
        std::vector<OwnedColumn> columns;
    };
    struct HostColumn;

    Status concatenate_column(const UploadContext& context, size_t number);
    Status download_column(const UploadContext& context, size_t number, size_t piece, uint64_t piece_start,
                           uint64_t first, uint64_t rows, HostColumn* host);

    const std::vector<ColumnSpec> specs_;
    std::mutex mutex_;
    uint64_t rows_ = 0;
    uint64_t data_bytes_ = 0;
    std::vector<Piece> pieces_;
    std::vector<OwnedColumn> whole_;  // filled one by one by concatenate()
};

}  // namespace gpujoin::cuda
