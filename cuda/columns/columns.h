// Batches on the device: columns uploaded from host or device memory, brought into the form that kernels
// read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda/columns/column_view.cuh"
#include "cuda/memory/memory.h"
#include "cuda/memory/transfer.h"
#include "wire/batch.h"

namespace gpujoin::cuda {

// A column that owns its device memory (or borrows its values from a batch on the device).
struct OwnedColumn {
    DeviceArray<uint8_t> valid;  // empty: no NULLs
    DeviceArray<std::byte> values;
    DeviceArray<const std::byte*> addresses;
    DeviceArray<uint32_t> lengths;
    DeviceArray<std::byte> data;
    const std::byte* borrowed = nullptr;  // of a batch on the device that stays

    const std::byte* fixed_values() const { return borrowed ? borrowed : values.data(); }
    DeviceColumn view(const ColumnSpec& spec) const;
};

// What an upload needs; not owned.
struct UploadContext {
    MemoryAccount& account;
    Transfer& transfer;
    cudaStream_t stream;
};

// Uploads every column of a batch, in the stream's order. Values that already lie on the device stay where
// they are if the batch outlives the columns, and are copied otherwise.
Status upload_columns(const UploadContext& context, std::span<const ColumnSpec> specs, const BatchView& batch,
                      bool batch_stays, std::vector<OwnedColumn>* columns);

}  // namespace gpujoin::cuda
