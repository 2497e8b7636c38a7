// Batches: Arrow's column layout inside a block of shared memory. A batch is a number of rows and, for each
// column of its input, up to three buffers, each starting at a multiple of 64 bytes:
//
//   validity   one bit a row, least significant first, 1 = not NULL; absent (kNoBuffer) when no row is NULL
//   values     fixed types: rows * width bytes; the value of a NULL row is zero bytes
//              Bytes: uint32 offsets[rows + 1] into data, starting at 0, never decreasing;
//              NULL rows are empty
//   data       Bytes only
//
// Values that a client later points into (Datums of output columns) are padded by the client to a multiple of
// 8 bytes, so that gathered values stay 8-byte aligned: data buffers start aligned and engines copy whole
// values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/join_spec.h"
#include "wire/status.h"

namespace gpujoin {

inline constexpr uint64_t kBufferAlignment = 64;
inline constexpr uint64_t kNoBuffer = ~uint64_t{0};
inline constexpr uint32_t kMaxBatchRows = 1u << 20;
inline constexpr uint32_t kTargetBatchRows = 128u << 10;
inline constexpr uint32_t kNoProbeRow = ~uint32_t{0};
inline constexpr uint64_t kNoBuildRow = ~uint64_t{0};

constexpr uint64_t align_buffer(uint64_t bytes) {
    return (bytes + kBufferAlignment - 1) & ~(kBufferAlignment - 1);
}
constexpr uint64_t validity_bytes(uint64_t rows) {
    return (rows + 7) / 8;
}

// Where a column's buffers are, in bytes from the start of the block.
struct ColumnBuffers {
    uint64_t validity = kNoBuffer;
    uint64_t values = 0;
    uint64_t data = 0;        // Bytes only
    uint64_t data_bytes = 0;  // Bytes only
};

// A column in memory that may be read. Pointers are not owned.
struct ColumnView {
    const uint8_t* validity = nullptr;  // nullptr: no NULLs
    const std::byte* values = nullptr;  // fixed types
    const uint32_t* offsets = nullptr;  // Bytes: rows + 1
    const std::byte* data = nullptr;    // Bytes
    uint64_t data_bytes = 0;

    bool is_valid(uint64_t row) const { return !validity || (validity[row >> 3] >> (row & 7) & 1); }
};

// Where the bytes of a view are. PinnedHost does not cover offsets arrays: what is checked is a private copy
// (copy_offsets()), and that lies in ordinary memory.
enum class Memory : uint8_t { Host, PinnedHost, Device };

// A batch that may be read: any number of rows. columns has one entry a column of the input; not owned.
struct BatchView {
    uint64_t rows = 0;
    std::span<const ColumnView> columns;
    Memory memory = Memory::Host;
    uint32_t replica = 0;  // Device: on which of several devices (engine/replicated)
    bool stays = false;    // Device, build rows: it stays as it is until the join is destroyed
    // Device, build rows of several devices (engine/replicated): the same rows in the memory of each. Valid
    // as long as the columns.
    std::span<const BatchView> copies = {};
};

// Bytes of a batch's buffers, without what aligns them.
uint64_t batch_bytes(std::span<const ColumnSpec> specs, const BatchView& batch);

// Checks that the buffers of a batch of `rows` rows lie inside a block of `block_bytes` bytes and are
// aligned, and that data buffers and rows are within limits. Does not read the block: offsets arrays are
// checked by copy_offsets().
Status validate_buffers(std::span<const ColumnSpec> columns, std::span<const ColumnBuffers> buffers,
                        uint64_t rows, uint64_t block_bytes);

// Copies an offsets array (rows + 1 entries) out of shared memory and checks the copy: starts at 0, never
// decreases, ends within data_bytes.
Status copy_offsets(const uint32_t* shared, uint64_t rows, uint64_t data_bytes, uint32_t* copy);

}  // namespace gpujoin
