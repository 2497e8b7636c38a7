// The build side on the device: every batch that was appended, and from seal on each column in one piece, in
// the order of row numbers.
//
// Appending uploads a batch into arrays of its own, so nothing is copied when the build side grows; values
// that lie on the device and stay there are not copied. Sealing joins the pieces column by column and
// gives a column's pieces back before the next is begun: at no time is more than one column there twice, of
// those that were uploaded. The data of Bytes columns is never moved: rows hold addresses.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "cuda/columns/columns.h"
#include "engine/engine.h"

namespace gpujoin::cuda {

class BuildSide {
  public:
    explicit BuildSide(std::span<const ColumnSpec> specs) : specs_(specs.begin(), specs.end()) {}

    // Adds a batch. Thread-safe; the context's stream has been waited for on return.
    Status append(const UploadContext& context, const BatchView& batch, uint64_t first_row);

    // Brings every column into one piece, if all row numbers are there. Not together with append().
    Status concatenate(const UploadContext& context);

    // Hands out every row in host memory, in batches of at most kMaxBatchRows.
    Status export_rows(const UploadContext& context, const BuildConsumer& consumer);

    uint64_t rows() const { return rows_; }
    uint64_t data_bytes() const { return data_bytes_; }  // of all Bytes columns
    // After concatenate().
    DeviceColumn column(uint32_t number) const { return whole_[number].view(specs_[number]); }

  private:
    struct Piece {
        uint64_t first_row = 0;
        uint64_t rows = 0;
        std::vector<OwnedColumn> columns;
    };
    struct HostColumn;

    Status order_pieces();
    Status concatenate_column(const UploadContext& context, size_t number);
    Status download_column(const UploadContext& context, size_t number, const Piece& piece, uint64_t first,
                           uint64_t rows, HostColumn* host);

    const std::vector<ColumnSpec> specs_;
    std::mutex mutex_;
    uint64_t rows_ = 0;
    uint64_t data_bytes_ = 0;
    std::vector<Piece> pieces_;
    std::vector<OwnedColumn> whole_;  // filled one by one by concatenate()
};

}  // namespace gpujoin::cuda
