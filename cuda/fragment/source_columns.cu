// Upload of source batches.
#include "cuda/fragment/source_columns.h"

namespace gpujoin::cuda {

namespace {

uint64_t value_bytes(const ColumnSpec& column, uint64_t rows) {
    const uint32_t width = fixed_width(column.type);
    return width ? rows * width : (rows + 1) * sizeof(uint32_t);
}

uint64_t bytes_of(const ColumnSpec& spec, const ColumnView& column, uint64_t rows) {
    return (column.validity ? align_buffer(validity_bytes(rows)) : 0) +
           align_buffer(value_bytes(spec, rows)) +
           (spec.type == ColumnType::Bytes ? align_buffer(column.data_bytes) : 0);
}

// Uploads buffers one behind the other.
class Uploader {
  public:
    Uploader(const WorkContext& context, std::byte* to) : context_(context), next_(to) {}

    template <typename T>
    Status upload(const T* from, uint64_t bytes, Memory memory, const T** to) {
        *to = reinterpret_cast<const T*>(next_);
        std::byte* place = next_;
        next_ += align_buffer(bytes);
        return context_.transfer.upload(context_.handle(), place, from, bytes, memory);
    }

  private:
    const WorkContext& context_;
    std::byte* next_;
};

Status upload_column(const BatchView& source, const ColumnSpec& spec, const ColumnView& column,
                     Uploader* uploader, ColumnView* view) {
    *view = {};
    if (column.validity)
        GPUJOIN_RETURN_IF_FAILED(
            uploader->upload(column.validity, validity_bytes(source.rows), source.memory, &view->validity));
    const uint64_t bytes = value_bytes(spec, source.rows);
    if (spec.type != ColumnType::Bytes)
        return uploader->upload(column.values, bytes, source.memory, &view->values);
    // A checked copy of the offsets need not be pinned where the values are.
    GPUJOIN_RETURN_IF_FAILED(uploader->upload(column.offsets, bytes, Memory::Host, &view->offsets));
    view->data_bytes = column.data_bytes;
    return uploader->upload(column.data, column.data_bytes, source.memory, &view->data);
}

}  // namespace

Status SourceColumns::upload(const BatchView& source, std::span<const LiveColumn> columns,
                             std::span<ColumnView> views) {
    if (source.memory == Memory::Device) {
        for (const LiveColumn& live : columns) views[live.column] = source.columns[live.column];
        return {};
    }
    if (source.rows == 0) return {};
    uint64_t bytes = 0;
    for (const LiveColumn& live : columns)
        bytes += bytes_of(live.spec, source.columns[live.column], source.rows);
    GPUJOIN_RETURN_IF_FAILED(memory_.reserve(bytes));
    const WorkContext context = work_.context();
    Uploader uploader(context, memory_.data());
    for (const LiveColumn& live : columns)
        GPUJOIN_RETURN_IF_FAILED(
            upload_column(source, live.spec, source.columns[live.column], &uploader, &views[live.column]));
    return work_.synchronize();
}

}  // namespace gpujoin::cuda
