// Partitioning on the device by itself: every tuple is there once, in the partition that its mixed key names,
// whether one pass is enough or two are needed, and whatever the rows' keys and payloads are made of.
#include "engine_harness.h"

#ifdef GPUJOIN_TEST_CUDA
#include "cuda_block.h"

#include <algorithm>
#include <functional>
#include <thread>

#include "cuda/device.h"
#include "cuda/radix/radix_partition.h"
#include "cuda/radix/radix_tuples.h"
#include "engine/hash.h"

namespace gpujoin::test {

using namespace cuda;
namespace {

// Rows of a side with one key column.
struct Rows {
    std::vector<uint64_t> keys;
    std::vector<uint8_t> valid;  // empty: no NULLs

    bool present(uint64_t row) const { return valid.empty() || valid[row]; }
};

Rows make_rows(uint64_t count, const std::function<uint64_t(uint64_t)>& key) {
    Rows rows;
    for (uint64_t i = 0; i < count; i++) rows.keys.push_back(key(i));
    return rows;
}

// The payload that stands for a row, where it is not the row's number.
constexpr uint64_t value_of_row(uint64_t row) {
    return ~row;
}

template <typename To>
std::vector<To> narrowed(const std::vector<uint64_t>& from) {
    return std::vector<To>(from.begin(), from.end());
}

uint64_t mixed(uint64_t key, uint32_t bytes) {
    return bytes == 4 ? mix32(static_cast<uint32_t>(key)) : mix(key);
}

// How rows are partitioned.
struct Way {
    uint32_t bits;
    uint32_t key_bytes;
    uint32_t payload_bytes;
    bool numbered;  // payloads are row numbers
};

struct Tuple {
    uint64_t key;
    uint64_t payload;
};

// Partitions rows on a stream of its own, and checks what comes out.
class Partitioner {
  public:
    explicit Partitioner(Device* device) : device_(*device), account_(&device->pool(), nullptr) {
        EXPECT_OK(device_.use());
        EXPECT_OK(stream_.acquire(&device_.streams()));
    }

    void check(const Rows& rows, const Way& way) {
        SCOPED_TRACE(testing::Message()
                     << rows.keys.size() << " rows, " << way.bits << " bits, " << way.key_bytes
                     << "-byte keys, " << way.payload_bytes << "-byte payloads"
                     << (rows.valid.empty() ? "" : ", with NULLs") << (way.numbered ? ", row numbers" : ""));
        std::vector<uint64_t> values;
        if (!way.numbered)
            for (uint64_t i = 0; i < rows.keys.size(); i++) values.push_back(value_of_row(i));
        PayloadSource payload{on_device(values, way.payload_bytes), way.payload_bytes};
        WorkContext context{account_, device_.transfer(), stream_, nullptr};
        RadixSide side;
        ASSERT_OK(side.partition(context, input_of(rows, way.key_bytes), payload, way.bits));
        ASSERT_OK(stream_.synchronize());
        expect_partitioned(side, rows, way);
        blocks_.clear();
    }

  private:
    const std::byte* on_device(const std::vector<uint64_t>& values, uint32_t width) {
        if (values.empty()) return nullptr;
        blocks_.push_back(std::make_unique<Block>(values.size() * width, Memory::Device));
        if (width == 4)
            blocks_.back()->copy_from(narrowed<uint32_t>(values).data(), values.size() * 4);
        else
            blocks_.back()->copy_from(values.data(), values.size() * 8);
        return blocks_.back()->get();
    }

    template <typename T>
    std::vector<T> from_device(const void* source, uint64_t count) {
        std::vector<T> values(count);
        EXPECT_EQ(cudaMemcpy(values.data(), source, count * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
        return values;
    }

    // The first `count` tuples.
    template <typename Key, typename Payload>
    std::vector<Tuple> tuples_of(const RadixSide& side, uint64_t count) {
        using View = RadixTuples<Key, Payload>;
        auto words = from_device<uint32_t>(side.tuples(), side.rows() * View::kBytes / sizeof(uint32_t));
        View view(words.data(), side.rows());
        std::vector<Tuple> tuples;
        for (uint64_t i = 0; i < count; i++) {
            auto tuple = view.get(i);
            tuples.push_back({tuple.key, tuple.payload});
        }
        return tuples;
    }
    std::vector<Tuple> tuples_of(const RadixSide& side, const Way& way, uint64_t count) {
        if (way.key_bytes == 4)
            return way.payload_bytes == 4 ? tuples_of<uint32_t, uint32_t>(side, count)
                                          : tuples_of<uint32_t, uint64_t>(side, count);
        return way.payload_bytes == 4 ? tuples_of<uint64_t, uint32_t>(side, count)
                                      : tuples_of<uint64_t, uint64_t>(side, count);
    }

    // The rows' key column on the device, where kernels find it.
    RadixInput input_of(const Rows& rows, uint32_t key_bytes) {
        DeviceColumn column;
        column.values = on_device(rows.keys, key_bytes);
        column.width = key_bytes;
        RadixInput input{};
        if (!rows.valid.empty()) {
            blocks_.push_back(std::make_unique<Block>(rows.valid.size(), Memory::Device));
            blocks_.back()->copy_from(rows.valid.data(), rows.valid.size());
            column.valid = reinterpret_cast<const uint8_t*>(blocks_.back()->get());
            input.required = {reinterpret_cast<const uint16_t*>(on_device({0}, 4)), 1};
        }
        blocks_.push_back(std::make_unique<Block>(sizeof column, Memory::Device));
        blocks_.back()->copy_from(&column, sizeof column);
        input.layout.parts = 1;
        input.layout.bytes = key_bytes;
        input.layout.part[0] = {0, 0, static_cast<uint8_t>(key_bytes), 0};
        input.build = true;
        input.columns = reinterpret_cast<const DeviceColumn*>(blocks_.back()->get());
        input.plain_keys = column.values;
        input.rows = rows.keys.size();
        return input;
    }

    void expect_partitioned(const RadixSide& side, const Rows& rows, const Way& way) {
        ASSERT_EQ(side.partitions(), 1u << way.bits);
        auto starts = from_device<uint32_t>(side.starts(), side.partitions() + 1);
        ASSERT_TRUE(std::is_sorted(starts.begin(), starts.end()));
        ASSERT_EQ(starts.front(), 0u);
        ASSERT_LE(starts.back(), side.rows());
        std::vector<Tuple> tuples = tuples_of(side, way, starts.back());
        std::vector<bool> seen(rows.keys.size());
        uint64_t mask = way.payload_bytes == 4 ? UINT32_MAX : UINT64_MAX;
        for (uint64_t partition = 0; partition < side.partitions(); partition++) {
            for (uint64_t i = starts[partition]; i < starts[partition + 1]; i++) {
                uint64_t row = way.numbered ? tuples[i].payload : ~tuples[i].payload & mask;
                ASSERT_LT(row, rows.keys.size());
                ASSERT_TRUE(rows.present(row) && !seen[row]) << "row " << row;
                seen[row] = true;
                ASSERT_EQ(tuples[i].key, mixed(rows.keys[row], way.key_bytes));
                ASSERT_EQ(tuples[i].key & (side.partitions() - 1), partition);
            }
        }
        for (uint64_t row = 0; row < rows.keys.size(); row++) ASSERT_EQ(seen[row], rows.present(row));
    }

    Device& device_;
    MemoryAccount account_;
    StreamLease stream_;
    std::vector<std::unique_ptr<Block>> blocks_;
};

class CudaPartitionTest : public EngineTest {
  protected:
    void SetUp() override {
        EngineTest::SetUp();
        if (IsSkipped()) return;
        ASSERT_OK(device_.open());
    }
    void check(const Rows& rows, const Way& way) { Partitioner(&device_).check(rows, way); }

    Device device_{0, uint64_t{1} << 30};
};

// One bit, the widest single pass, two passes, and more partitions than are counted at once.
constexpr uint32_t kBits[] = {1, 8, 9, 16};

TEST_P(CudaPartitionTest, KeysAndPayloadsOfEveryWidth) {
    for (uint64_t count : {0, 1, 31, 4097, 60'000}) {
        Rows rows = make_rows(count, [](uint64_t i) { return mix(i); });
        for (uint32_t bits : kBits) {
            for (uint32_t key : {4, 8}) {
                for (uint32_t payload : {4, 8}) check(rows, {bits, key, payload, false});
                check(rows, {bits, key, 4, true});
                if (HasFatalFailure()) return;
            }
        }
    }
}

TEST_P(CudaPartitionTest, RowsWithNullsAreLeftOut) {
    Rows some = make_rows(30'000, [](uint64_t i) { return i; });
    Rows none = some;
    for (uint64_t i = 0; i < some.keys.size(); i++) some.valid.push_back(i % 3 != 0 && i > 9000);
    none.valid.assign(none.keys.size(), 0);
    for (uint32_t bits : kBits) {
        for (uint32_t key : {4, 8}) {
            check(some, {bits, key, 4, true});
            check(some, {bits, key, 8, false});
            check(none, {bits, key, 4, true});
            if (HasFatalFailure()) return;
        }
    }
}

// Partitions of very different sizes: one with all rows, and one with half of them beside many small ones.
TEST_P(CudaPartitionTest, HotKeys) {
    for (uint32_t bits : kBits) {
        for (uint32_t key : {4, 8}) {
            check(make_rows(50'000, [](uint64_t) { return 7; }), {bits, key, 4, true});
            check(make_rows(50'000, [](uint64_t i) { return i % 2 ? 7 : i; }), {bits, key, 8, false});
            if (HasFatalFailure()) return;
        }
    }
}

// Kernels that count into more partitions ask for more shared memory: no side may change what another that is
// partitioned at the same time has asked for.
TEST_P(CudaPartitionTest, SeveralSidesAtOnce) {
    const Rows rows = make_rows(5000, [](uint64_t i) { return i; });
    std::vector<std::thread> threads;
    for (uint32_t bits : {1, 9, 13, 14, 15, 16}) {
        threads.emplace_back([this, &rows, bits] {
            Partitioner partitioner(&device_);
            for (int repeat = 0; repeat < 60; repeat++) partitioner.check(rows, {bits, 4, 4, true});
        });
    }
    for (std::thread& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(Engines, CudaPartitionTest, testing::Values("cuda"),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace
}  // namespace gpujoin::test
#endif
