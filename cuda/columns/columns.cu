// Upload of batches.
#include "cuda/columns/columns.h"

#include "cuda/work/launch.cuh"
#include "cuda/work/primitives.h"

namespace gpujoin::cuda {

namespace {

// For kernels that follow on the stream; what is on the device is read there.
template <typename T>
Status upload_for_now(const UploadContext& context, const T* source, uint64_t count, Memory memory,
                      DeviceArray<T>* copy, const T** from) {
    *from = source;
    if (memory == Memory::Device) return {};
    GPUJOIN_RETURN_IF_FAILED(copy->allocate(context.account, count, context.stream));
    *from = copy->data();
    return context.transfer.upload(context.stream, copy->data(), source, count * sizeof(T), memory);
}

Status upload_validity(const UploadContext& context, const ColumnView& column, const BatchView& batch,
                       DeviceArray<uint8_t>* valid) {
    DeviceArray<uint8_t> bits;
    const uint8_t* from;
    GPUJOIN_RETURN_IF_FAILED(
        upload_for_now(context, column.validity, validity_bytes(batch.rows), batch.memory, &bits, &from));
    GPUJOIN_RETURN_IF_FAILED(valid->allocate(context.account, batch.rows, context.stream));
    uint8_t* to = valid->data();
    return for_each(context.stream, batch.rows,
                    [=] __device__(uint64_t row) { to[row] = from[row >> 3] >> (row & 7) & 1; });
}

Status upload_fixed(const UploadContext& context, const ColumnView& column, const BatchView& batch,
                    bool batch_stays, uint32_t width, OwnedColumn* owned) {
    if (batch.memory == Memory::Device && batch_stays) {
        owned->borrowed = column.values;
        return {};
    }
    uint64_t bytes = batch.rows * width;
    GPUJOIN_RETURN_IF_FAILED(owned->values.allocate(context.account, bytes, context.stream));
    return context.transfer.upload(context.stream, owned->values.data(), column.values, bytes, batch.memory);
}

// Keeps the data as it came and turns offsets into addresses and lengths.
Status upload_bytes(const UploadContext& context, const ColumnView& column, const BatchView& batch,
                    bool batch_stays, OwnedColumn* owned) {
    DeviceArray<uint32_t> offsets;
    // A checked copy of the offsets need not be pinned where the values are.
    Memory memory = batch.memory == Memory::Device ? Memory::Device : Memory::Host;
    const uint32_t* from;
    GPUJOIN_RETURN_IF_FAILED(
        upload_for_now(context, column.offsets, batch.rows + 1, memory, &offsets, &from));
    const std::byte* data = column.data;
    if (memory != Memory::Device || !batch_stays) {
        GPUJOIN_RETURN_IF_FAILED(owned->data.allocate(context.account, column.data_bytes, context.stream));
        GPUJOIN_RETURN_IF_FAILED(context.transfer.upload(context.stream, owned->data.data(), column.data,
                                                         column.data_bytes, batch.memory));
        data = owned->data.data();
    }
    GPUJOIN_RETURN_IF_FAILED(owned->addresses.allocate(context.account, batch.rows, context.stream));
    GPUJOIN_RETURN_IF_FAILED(owned->lengths.allocate(context.account, batch.rows, context.stream));
    const std::byte** addresses = owned->addresses.data();
    uint32_t* lengths = owned->lengths.data();
    return for_each(context.stream, batch.rows, [=] __device__(uint64_t row) {
        addresses[row] = data + from[row];
        lengths[row] = from[row + 1] - from[row];
    });
}

}  // namespace

DeviceColumn OwnedColumn::view(const ColumnSpec& spec) const {
    DeviceColumn column;
    column.valid = valid.data();
    column.values = fixed_values();
    column.addresses = addresses.data();
    column.lengths = lengths.data();
    column.spec = spec;
    column.width = fixed_width(spec.type);
    return column;
}

Status upload_columns(const UploadContext& context, std::span<const ColumnSpec> specs, const BatchView& batch,
                      bool batch_stays, std::vector<OwnedColumn>* columns) {
    columns->clear();
    columns->resize(specs.size());
    if (batch.rows == 0) return {};
    for (size_t i = 0; i < specs.size(); i++) {
        OwnedColumn& owned = (*columns)[i];
        const ColumnView& column = batch.columns[i];
        if (column.validity) GPUJOIN_RETURN_IF_FAILED(upload_validity(context, column, batch, &owned.valid));
        uint32_t width = fixed_width(specs[i].type);
        GPUJOIN_RETURN_IF_FAILED(width ? upload_fixed(context, column, batch, batch_stays, width, &owned)
                                       : upload_bytes(context, column, batch, batch_stays, &owned));
    }
    return {};
}

}  // namespace gpujoin::cuda
