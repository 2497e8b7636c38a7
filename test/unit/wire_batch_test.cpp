// Batch layouts and offsets arrays: what is inside a block passes, whatever is not is refused.
#include <gtest/gtest.h>

#include <vector>

#include "wire/batch.h"

namespace gpujoin::test {

namespace {

constexpr ColumnSpec kLong{ColumnType::Fixed8, ValueOrder::Signed, 1, 0};
constexpr ColumnSpec kText{ColumnType::Bytes, ValueOrder::Bytes, 0, 0};

bool is_valid(const ColumnSpec& column, const ColumnBuffers& buffers, uint64_t rows, uint64_t block_bytes) {
    return validate_buffers({&column, 1}, {&buffers, 1}, rows, block_bytes).ok();
}

bool offsets_are_valid(const std::vector<uint32_t>& offsets, uint64_t data_bytes) {
    std::vector<uint32_t> copy(offsets.size());
    bool valid = copy_offsets(offsets.data(), offsets.size() - 1, data_bytes, copy.data()).ok();
    EXPECT_TRUE(!valid || copy == offsets);
    return valid;
}

}  // namespace

TEST(Batch, FixedColumnsFillABlockExactly) {
    EXPECT_TRUE(is_valid(kLong, {kNoBuffer, 0, 0, 0}, 512, 4096));
    EXPECT_FALSE(is_valid(kLong, {kNoBuffer, 0, 0, 0}, 513, 4096));
    EXPECT_TRUE(is_valid(kLong, {4032, 0, 0, 0}, 504, 4096));
    EXPECT_FALSE(is_valid(kLong, {4096, 0, 0, 0}, 504, 4096));
    EXPECT_TRUE(is_valid(kLong, {kNoBuffer, 4096, 0, 0}, 0, 4096));
    EXPECT_FALSE(is_valid(kLong, {kNoBuffer, 4096 + 64, 0, 0}, 0, 4096));
}

TEST(Batch, BytesColumnsNeedOffsetsAndData) {
    EXPECT_TRUE(is_valid(kText, {kNoBuffer, 0, 64, 4032}, 15, 4096));
    EXPECT_FALSE(is_valid(kText, {kNoBuffer, 0, 64, 4033}, 15, 4096));
    EXPECT_FALSE(is_valid(kText, {kNoBuffer, 4032, 64, 1}, 16, 4096));
    EXPECT_FALSE(is_valid(kText, {0, 0, 64, 1}, 1, 4096)) << "not nullable";
    EXPECT_FALSE(is_valid(kText, {kNoBuffer, 0, 64, uint64_t{1} << 32}, 1, uint64_t{1} << 40));
}

TEST(Batch, BuffersAreAligned) {
    EXPECT_FALSE(is_valid(kLong, {kNoBuffer, 8, 0, 0}, 1, 4096));
    EXPECT_FALSE(is_valid(kLong, {32, 64, 0, 0}, 1, 4096));
    EXPECT_FALSE(is_valid(kText, {kNoBuffer, 0, 65, 1}, 1, 4096));
}

TEST(Batch, NothingOverflows) {
    for (uint64_t far : {~uint64_t{0} - 63, ~uint64_t{0} - 127, uint64_t{1} << 63}) {
        EXPECT_FALSE(is_valid(kLong, {kNoBuffer, far, 0, 0}, 16, 4096));
        EXPECT_FALSE(is_valid(kLong, {far, 0, 0, 0}, 16, 4096));
        EXPECT_FALSE(is_valid(kText, {kNoBuffer, 0, far, 64}, 1, 4096));
    }
    EXPECT_FALSE(is_valid(kLong, {kNoBuffer, 0, 0, 0}, kMaxBatchRows + 1, ~uint64_t{0}));
    EXPECT_FALSE(is_valid(kLong, {kNoBuffer, 0, 0, 0}, ~uint64_t{0}, ~uint64_t{0}));
    EXPECT_FALSE(validate_buffers({&kLong, 1}, {}, 1, 4096).ok());
}

TEST(Batch, OffsetsAreChecked) {
    EXPECT_TRUE(offsets_are_valid({0}, 0));
    EXPECT_TRUE(offsets_are_valid({0, 0, 5, 5}, 5));
    EXPECT_FALSE(offsets_are_valid({0, 0, 5, 6}, 5));
    EXPECT_FALSE(offsets_are_valid({1, 1}, 5));
    EXPECT_FALSE(offsets_are_valid({0, 3, 2}, 5));
    EXPECT_FALSE(offsets_are_valid({0, 0xffffffff, 2}, 5));
}

}  // namespace gpujoin::test
