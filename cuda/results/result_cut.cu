// A search by one thread, since what it looks at is on the device.
#include "cuda/results/result_cut.h"

#include "cuda/work/launch.cuh"

namespace gpujoin::cuda {

namespace {

// Figures of a cut: how many rows fit, the bytes that one row needs, then the data bytes of each column.
constexpr uint32_t kCutRows = 0;
constexpr uint32_t kCutNeeded = 1;
constexpr uint32_t kCutData = 2;

// starts: for each of the shape's Bytes columns the starts of `rows` values and their end.
struct DataSizes {
    const uint64_t* starts;
    uint64_t rows;
    uint32_t columns;

    GPUJOIN_HD uint64_t of_column(uint32_t column, uint64_t count) const {
        return starts[column * (rows + 1) + count];
    }
    GPUJOIN_HD uint64_t operator()(uint64_t count) const {
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < columns; i++) {
            uint64_t data = of_column(i, count);
            if (data > UINT32_MAX) return UINT64_MAX;
            bytes += align_to_buffer(data);
        }
        return bytes;
    }
};

Status find_cut(const WorkContext& context, const ResultShape& shape, const DataSizes& data, uint64_t budget,
                uint64_t* figures) {
    return for_each(context.handle(), 1, [=] __device__(uint64_t) {
        uint64_t rows = cut_rows(shape, data.rows, budget, data);
        figures[kCutRows] = rows;
        figures[kCutNeeded] = result_bytes(shape, 1) + data(1);
        for (uint32_t i = 0; i < data.columns; i++) figures[kCutData + i] = data.of_column(i, rows);
    });
}

}  // namespace

Status cut_result(const WorkContext& context, std::span<const ResultColumn> columns, const ResultShape& shape,
                  const uint64_t* starts, uint64_t count, uint64_t budget, const ResultCut& cut) {
    DeviceArray<uint64_t> figures;
    GPUJOIN_RETURN_IF_FAILED(
        figures.allocate(context.account, kCutData + shape.bytes_columns, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(
        find_cut(context, shape, {starts, count, shape.bytes_columns}, budget, figures.data()));
    uint64_t* mailbox = context.stream.mailbox();
    GPUJOIN_CHECK_CUDA(cudaMemcpyAsync(mailbox, figures.data(), figures.size() * sizeof(uint64_t),
                                       cudaMemcpyDeviceToHost, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(context.stream.synchronize());
    *cut.rows = mailbox[kCutRows];
    *cut.needed = mailbox[kCutNeeded];
    uint32_t next = kCutData;
    for (size_t i = 0; i < columns.size(); i++)
        cut.data_bytes[i] = columns[i].type == ColumnType::Bytes ? mailbox[next++] : 0;
    return {};
}

}  // namespace gpujoin::cuda
