// The build side: append, concatenation and export.
#include "cuda/columns/build_side.h"

#include <algorithm>

#include "cuda/work/primitives.h"
#include "engine/row_numbers.h"
#include "engine/turn.h"

namespace gpujoin::cuda {

namespace {

// Copies a piece's array into the column's.
template <typename T>
Status copy_array(cudaStream_t stream, const T* piece, uint64_t count, T* target) {
    GPUJOIN_CHECK_CUDA(cudaMemcpyAsync(target, piece, count * sizeof(T), cudaMemcpyDeviceToDevice, stream));
    return {};
}

}  // namespace

Status BuildSide::append(const UploadContext& context, const BatchView& batch, uint64_t first_row) {
    Piece piece;
    piece.first_row = first_row;
    piece.rows = batch.rows;
    GPUJOIN_RETURN_IF_FAILED(upload_columns(context, specs_, batch, batch.stays, &piece.columns));
    GPUJOIN_CHECK_CUDA(cudaStreamSynchronize(context.stream));
    if (batch.rows == 0) return {};
    std::lock_guard lock(mutex_);
    rows_ += piece.rows;
    for (const OwnedColumn& column : piece.columns) data_bytes_ += column.data.size();
    pieces_.push_back(std::move(piece));
    return {};
}

Status BuildSide::concatenate(const UploadContext& context) {
    GPUJOIN_RETURN_IF_FAILED(order_pieces());
    for (size_t i = 0; i < specs_.size(); i++) GPUJOIN_RETURN_IF_FAILED(concatenate_column(context, i));
    return {};
}

// Brings pieces into the order of their row numbers.
Status BuildSide::order_pieces() {
    std::vector<RowRun> runs;
    for (const Piece& piece : pieces_) runs.push_back({piece.first_row, piece.rows, runs.size()});
    GPUJOIN_RETURN_IF_FAILED(order_runs(&runs));
    std::vector<Piece> ordered;
    ordered.reserve(runs.size());
    for (const RowRun& run : runs) ordered.push_back(std::move(pieces_[run.stored_at]));
    pieces_ = std::move(ordered);
    return {};
}

// All arrays of the whole column are there before any piece is given up: a failure loses nothing.
Status BuildSide::concatenate_column(const UploadContext& context, size_t number) {
    uint32_t width = fixed_width(specs_[number].type);
    OwnedColumn whole;
    if (pieces_.size() == 1) {
        OwnedColumn& only = pieces_[0].columns[number];
        whole = std::move(only);
        only.data = std::move(whole.data);
        whole_.push_back(std::move(whole));
        return {};
    }
    cudaStream_t stream = context.stream;
    bool nulls = std::any_of(pieces_.begin(), pieces_.end(),
                             [=](const Piece& piece) { return piece.columns[number].valid.data(); });
    if (nulls) GPUJOIN_RETURN_IF_FAILED(whole.valid.allocate(context.account, rows_, stream));
    if (width) {
        GPUJOIN_RETURN_IF_FAILED(whole.values.allocate(context.account, rows_ * width, stream));
    } else {
        GPUJOIN_RETURN_IF_FAILED(whole.addresses.allocate(context.account, rows_, stream));
        GPUJOIN_RETURN_IF_FAILED(whole.lengths.allocate(context.account, rows_, stream));
    }
    uint64_t row = 0;
    for (Piece& piece : pieces_) {
        OwnedColumn& part = piece.columns[number];
        if (part.valid.data()) {
            GPUJOIN_RETURN_IF_FAILED(
                copy_array(stream, part.valid.data(), piece.rows, whole.valid.data() + row));
        } else if (nulls) {
            GPUJOIN_RETURN_IF_FAILED(fill_bytes(stream, whole.valid.data() + row, 1, piece.rows));
        }
        if (width) {
            GPUJOIN_RETURN_IF_FAILED(copy_array(stream, part.fixed_values(), piece.rows * width,
                                                whole.values.data() + row * width));
        } else {
            GPUJOIN_RETURN_IF_FAILED(
                copy_array(stream, part.addresses.data(), piece.rows, whole.addresses.data() + row));
            GPUJOIN_RETURN_IF_FAILED(
                copy_array(stream, part.lengths.data(), piece.rows, whole.lengths.data() + row));
        }
        row += piece.rows;
    }
    GPUJOIN_CHECK_CUDA(cudaStreamSynchronize(stream));
    for (Piece& piece : pieces_) {
        OwnedColumn& part = piece.columns[number];
        part.valid.reset();
        part.values.reset();
        part.addresses.reset();
        part.lengths.reset();
    }
    whole_.push_back(std::move(whole));
    return {};
}

// One column of a batch in host memory.
struct BuildSide::HostColumn {
    std::vector<uint8_t> valid;
    std::vector<uint8_t> validity;
    std::vector<std::byte> values;
    std::vector<uint32_t> offsets;
    std::vector<std::byte> data;

    ColumnView view() const {
        ColumnView column;
        column.validity = validity.empty() ? nullptr : validity.data();
        column.values = values.data();
        column.offsets = offsets.empty() ? nullptr : offsets.data();
        column.data = data.data();
        column.data_bytes = data.size();
        return column;
    }
};

// Downloads rows [first, first + rows) of one piece. The rows' data lies in one stretch, since a piece keeps
// its data as it came.
Status BuildSide::download_column(const UploadContext& context, size_t number, const Piece& piece,
                                  uint64_t first, uint64_t rows, HostColumn* host) {
    bool in_piece = number >= whole_.size();
    const OwnedColumn& source = in_piece ? piece.columns[number] : whole_[number];
    uint64_t row = in_piece ? first : piece.first_row + first;
    auto download = [&](void* target, const void* from, uint64_t bytes) {
        return context.transfer.download(context.stream, target, from, bytes, Memory::Host);
    };
    *host = {};
    if (source.valid.data()) {
        host->valid.resize(rows);
        GPUJOIN_RETURN_IF_FAILED(download(host->valid.data(), source.valid.data() + row, rows));
        host->validity.resize(validity_bytes(rows));
        for (uint64_t i = 0; i < rows; i++)
            host->validity[i >> 3] |= static_cast<uint8_t>((host->valid[i] != 0) << (i & 7));
    }
    if (uint32_t width = fixed_width(specs_[number].type)) {
        host->values.resize(rows * width);
        return download(host->values.data(), source.fixed_values() + row * width, rows * width);
    }
    const std::byte* data = nullptr;
    host->offsets.resize(rows + 1);
    GPUJOIN_RETURN_IF_FAILED(download(&data, source.addresses.data() + row, sizeof data));
    GPUJOIN_RETURN_IF_FAILED(
        download(host->offsets.data() + 1, source.lengths.data() + row, rows * sizeof(uint32_t)));
    for (uint64_t i = 0; i < rows; i++) host->offsets[i + 1] += host->offsets[i];
    host->data.resize(host->offsets[rows]);
    return download(host->data.data(), data, host->data.size());
}

Status BuildSide::export_rows(const UploadContext& context, const BuildConsumer& consumer) {
    std::vector<HostColumn> host(specs_.size());
    std::vector<ColumnView> views(specs_.size());
    for (const Piece& piece : pieces_) {
        for (uint64_t first = 0; first < piece.rows; first += kMaxBatchRows) {
            give_way();
            uint64_t rows = std::min<uint64_t>(kMaxBatchRows, piece.rows - first);
            for (size_t i = 0; i < specs_.size(); i++) {
                GPUJOIN_RETURN_IF_FAILED(download_column(context, i, piece, first, rows, &host[i]));
                views[i] = host[i].view();
            }
            GPUJOIN_RETURN_IF_FAILED(consumer({rows, views, Memory::Host}, piece.first_row + first));
        }
    }
    return {};
}

}  // namespace gpujoin::cuda
