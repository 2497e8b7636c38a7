// Arrays of the CPU engine, and what becomes of their memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "engine/cpu/memory/host_array.h"
#include "engine/cpu/memory/mapping_pool.h"
#include "engine/engine.h"
#include "engine/mapping.h"
#include "engine_harness.h"

namespace gpujoin::test {
namespace {

constexpr uint64_t kMiB = 1u << 20;

bool is_zero(const cpu::HostArray& array, uint64_t bytes) {
    const std::span<const uint8_t> all(array.as<uint8_t>(), bytes);
    return std::ranges::all_of(all, [](uint8_t byte) { return byte == 0; });
}

// Whatever tests before this one have left is of no use.
class CpuMemory : public testing::Test {
  protected:
    void SetUp() override { cpu::mapping_pool().clear(); }
    void TearDown() override { limit_spare_memory(64 * kMiB); }

    // An array that is full, and gone. Where it was.
    const void* leave(uint64_t bytes) {
        cpu::HostArray array;
        EXPECT_OK(array.allocate(nullptr, bytes));
        std::memset(array.as<uint8_t>(), 0xff, bytes);
        return array.as<void>();
    }
};

TEST_F(CpuMemory, OfAnEarlierArrayIsZero) {
    const void* before = leave(kMiB);
    cpu::HostArray array;
    ASSERT_OK(array.allocate(nullptr, kMiB - 5000));  // of the same class
    EXPECT_EQ(array.as<void>(), before);
    EXPECT_TRUE(is_zero(array, kMiB - 5000));
}

TEST_F(CpuMemory, OfAnEarlierArrayIsZeroAsItGrows) {
    leave(kMiB);
    cpu::HostArray array;
    ASSERT_OK(array.reserve(nullptr, kMiB));
    for (uint64_t bytes : {1 * kPage, 7 * kPage, 200 * kPage, kMiB / kPage * kPage}) {
        ASSERT_OK(array.grow(bytes));
        EXPECT_TRUE(is_zero(array, bytes)) << bytes;
    }
    std::memset(array.as<uint8_t>(), 0xff, kMiB);
    ASSERT_OK(array.grow(100 * kPage));  // less than there is
    EXPECT_EQ(array.as<uint8_t>()[99 * kPage], 0xff);
}

// What the second array did not write, the first one had.
TEST_F(CpuMemory, IsKnownAsWrittenByAnyArrayBefore) {
    leave(kMiB);
    {
        cpu::HostArray small;
        ASSERT_OK(small.reserve(nullptr, kMiB));
        ASSERT_OK(small.grow(kPage));
    }
    cpu::HostArray array;
    ASSERT_OK(array.allocate(nullptr, kMiB));
    EXPECT_TRUE(is_zero(array, kMiB));
}

TEST_F(CpuMemory, OfArraysInUseIsNobodyElses) {
    leave(kMiB);
    cpu::HostArray one, other;
    ASSERT_OK(one.allocate(nullptr, kMiB));
    ASSERT_OK(other.allocate(nullptr, kMiB));
    EXPECT_NE(one.as<void>(), other.as<void>());
}

cpu::Mapping mapping_of(uint64_t bytes) {
    cpu::Mapping mapping;
    mapping.start = map_memory(bytes);
    mapping.reserved = mapping.usable = mapping.written = bytes;
    return mapping;
}

TEST_F(CpuMemory, IsKeptUpToALimitTheOldestLeast) {
    cpu::MappingPool pool;
    pool.set_limit(3 * kMiB);
    pool.give(mapping_of(kMiB / 2));
    pool.give(mapping_of(kMiB));
    pool.give(mapping_of(2 * kMiB));
    EXPECT_EQ(pool.take(kMiB / 2).start, nullptr);
    pool.set_limit(2 * kMiB);
    EXPECT_EQ(pool.take(kMiB).start, nullptr);
    const cpu::Mapping kept = pool.take(2 * kMiB);
    ASSERT_NE(kept.start, nullptr);
    EXPECT_EQ(kept.written, 2 * kMiB);
    EXPECT_EQ(pool.take(2 * kMiB).start, nullptr) << "there was one";
    cpu::unmap(kept);
}

TEST_F(CpuMemory, IsNotKeptOfLargeArraysOrWithoutALimit) {
    cpu::MappingPool pool;
    pool.give(mapping_of(32 * kMiB));
    EXPECT_EQ(pool.take(32 * kMiB).start, nullptr);
    pool.set_limit(0);
    pool.give(mapping_of(kMiB));
    EXPECT_EQ(pool.take(kMiB).start, nullptr);
}

TEST(CpuMemoryClasses, HoldWhatIsAskedFor) {
    for (uint64_t bytes :
         {uint64_t{1}, kPage, kPage + 1, 3 * kMiB, 1024 * kMiB, 1025 * kMiB, uint64_t{1} << 39}) {
        const uint64_t size = cpu::MappingPool::size_class(bytes);
        EXPECT_GE(size, bytes);
        EXPECT_LE(size, 2 * std::max(bytes, kPage));
        EXPECT_EQ(size % kPage, 0u);
    }
}

}  // namespace
}  // namespace gpujoin::test
