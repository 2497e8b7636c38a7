// Kept rows that are read on the device: conditions, columns that are widened, maps of some blocks, text and
// NULLs, against a plain reading of the same rows; several readers of one scan; and too little memory.
#include <thread>

#include "engine_harness.h"

#ifdef GPUJOIN_TEST_CUDA
#include <cuda_runtime.h>

#include "cuda/kept/resident_reader.h"
#include "kept_chunks.h"

namespace gpujoin::test {

using namespace cuda;
namespace {

// Buffers of a batch, in host memory.
class Downloaded {
  public:
    Downloaded(const BatchView& batch, std::span<const ColumnSpec> specs) : memory_(batch.memory) {
        for (size_t i = 0; i < specs.size(); i++) {
            const ColumnView& column = batch.columns[i];
            const uint32_t width = fixed_width(specs[i].type);
            ColumnView view;
            view.validity = copy(column.validity, validity_bytes(batch.rows));
            view.values = copy(column.values, batch.rows * width);
            if (width == 0) view.offsets = copy(column.offsets, (batch.rows + 1) * sizeof(uint32_t));
            view.data = copy(column.data, column.data_bytes);
            views_.push_back(view);
        }
        rows = rows_of({batch.rows, views_, Memory::Host}, specs);
    }

    std::vector<KeptRow> rows;

  private:
    template <typename T>
    const T* copy(const T* from, uint64_t bytes) {
        if (!from) return nullptr;
        std::vector<uint64_t>& to = buffers_.emplace_back(bytes / 8 + 1);
        const auto kind = memory_ == Memory::Device ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost;
        EXPECT_EQ(cudaMemcpy(to.data(), from, bytes, kind), cudaSuccess);
        return reinterpret_cast<const T*>(to.data());
    }

    const Memory memory_;
    std::vector<std::vector<uint64_t>> buffers_;
    std::vector<ColumnView> views_;
};

class CudaKept : public EngineTest {
  protected:
    void SetUp() override {
        EngineTest::SetUp();
        if (!IsSkipped()) make_device(uint64_t{1} << 30);
    }
    void make_device(uint64_t memory) {
        device_ = std::make_unique<Device>(0, memory);
        ASSERT_OK(device_->open());
    }

    // What one reader gives; *on_device: batches that were there.
    std::vector<KeptRow> read(const KeptScan& scan, KeptPosition& position,
                              std::span<const ColumnSpec> source, uint32_t most_rows,
                              int* on_device = nullptr) {
        std::vector<KeptRow> all;
        auto reader = make_resident_reader(device_.get(), scan, position, source, most_rows, limits());
        for (;;) {
            BatchView batch;
            EXPECT_OK(reader->next(&batch));
            if (batch.rows == 0) return all;
            EXPECT_LE(batch.rows, most_rows);
            if (on_device) *on_device += batch.memory == Memory::Device;
            const Downloaded some(batch, source);
            all.insert(all.end(), some.rows.begin(), some.rows.end());
        }
    }

    void expect_same(const Kept& kept, size_t columns) {
        const std::vector<ColumnSpec> source = kept.source(columns);
        KeptScan scan = kept.scan();
        ASSERT_OK(validate_kept_scan(scan, source));
        const std::vector<KeptRow> expected = kept.expected(columns);
        for (const bool skips : {false, true}) {
            if (skips) scan.skip_stretches();
            KeptPosition position;
            int on_device = 0;
            ASSERT_EQ(read(scan, position, source, kMostRows, &on_device), expected);
            EXPECT_EQ(on_device > 0, !expected.empty());
        }
    }

    static constexpr uint32_t kMostRows = 1u << 20;
    std::unique_ptr<Device> device_;
    Ledger kept_memory_{uint64_t{1} << 30};
};

TEST_P(CudaKept, GivesTheRowsOfTheMapsBlocks) {
    Kept kept(all_columns(), 900, 60, &kept_memory_, 1);
    expect_same(kept, kept.columns.size());
    leave_blocks_out(kept);
    expect_same(kept, kept.columns.size());
    expect_same(kept, 0);
    for (ChunkMap& map : kept.maps) map = {};
    expect_same(kept, 3);
}

TEST_P(CudaKept, TestsConditionsOfAllKinds) {
    for (const Kept::Order order : {Kept::Order::Random, Kept::Order::Narrow}) {
        Kept kept(all_columns(), 300, 50, &kept_memory_, 2, 12, order);
        std::mt19937_64 random(3);
        size_t some = 0;
        for (int round = 0; round < 100; round++) {
            kept.choose_conditions(random);
            expect_same(kept, kept.columns.size());
            some += !kept.expected(1).empty();
        }
        EXPECT_GT(some, 25u);
    }
}

TEST_P(CudaKept, WidensIntegers) {
    for (const auto& [type, order] : {std::pair{ColumnType::Fixed4, Kept::Order::Random},
                                      {ColumnType::Fixed8, Kept::Order::Random},
                                      {ColumnType::Fixed8, Kept::Order::Narrow}}) {
        Kept kept({kept_column(ColumnType::Fixed1), kept_column(ColumnType::Fixed2),
                   kept_column(ColumnType::Fixed4)},
                  60, 50, &kept_memory_, 4, 12, order);
        std::vector<ColumnSpec> source = kept.source(3);
        for (ColumnSpec& spec : source) spec.type = type;
        const KeptScan scan = kept.scan();
        Status status;
        const std::vector<KeptRow> expected = scan_rows(scan, source, &kept_memory_, &status);
        ASSERT_EQ(expected.size(), kept.rows.size());
        KeptPosition position;
        EXPECT_EQ(read(scan, position, source, kMostRows), expected);
    }
}

TEST_P(CudaKept, ReadersShareTheRows) {
    Kept kept({kept_column(ColumnType::Fixed4), kept_column(ColumnType::Bytes, ValueOrder::Bytes)}, 4000, 225,
              &kept_memory_, 5);
    add_condition(kept.conditions, interval_condition(-100, 200, 0, KeptTest::Outside));
    const std::vector<ColumnSpec> source = kept.source(2);
    const KeptScan scan = kept.scan();
    KeptPosition position;
    std::vector<std::vector<KeptRow>> parts(4);
    std::vector<std::thread> threads;
    for (auto& part : parts) threads.emplace_back([&] { part = read(scan, position, source, 64u << 10); });
    for (std::thread& thread : threads) thread.join();
    std::vector<KeptRow> all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    std::vector<KeptRow> expected = kept.expected(2);
    std::ranges::sort(all);
    std::ranges::sort(expected);
    EXPECT_EQ(all, expected);
}

// Parts of a chunk, of which some blocks are not wanted, one behind the other.
TEST_P(CudaKept, SkipsStretchesByTheirBounds) {
    Kept kept(bounded_columns(), 2600, 200, &kept_memory_, 9, 12, Kept::Order::Ascending);
    std::mt19937_64 random(10);
    for (int round = 0; round < 20; round++) {
        kept.choose_conditions(random);
        if (round == 10) leave_blocks_out(kept);
        expect_same(kept, 4);
    }
}

// As a participant of a parallel plan that has taken two parts of a chunk.
TEST_P(CudaKept, ReadsAChunkForSomeBlocksAndThenForOthers) {
    Kept kept(bounded_columns(), 2600, 200, &kept_memory_, 14, 12, Kept::Order::Ascending);
    kept.conditions = {interval_condition(20000, 200000, 0)};
    const std::vector<ColumnSpec> source = kept.source(4);
    const KeptScan whole = kept.scan();
    KeptScan scan;
    scan.conditions = kept.conditions;
    for (const KeptPart& part : whole.parts)
        for (uint32_t third = 0; third < 3; third++) {
            ChunkMap map{};
            for (uint32_t block = 0; block < kChunkBlocks; block++)
                if (block / 8 % 3 == third && part.map.has(block)) map.add(block);
            scan.add(part.view, map, part.number);
        }
    std::vector<KeptRow> expected = kept.expected(4);
    std::ranges::sort(expected);
    for (const bool skips : {false, true}) {
        const uint64_t skipped = skips ? scan.skip_stretches() : 0;
        EXPECT_EQ(skipped > 0, skips);
        KeptPosition position;
        std::vector<KeptRow> rows = read(scan, position, source, kMostRows);
        std::ranges::sort(rows);
        EXPECT_EQ(rows, expected);
    }
}

// What there is no room for comes from host memory.
TEST_P(CudaKept, MakesDoWithLittleMemory) {
    Kept kept({kept_column(ColumnType::Fixed8), kept_column(ColumnType::Bytes, ValueOrder::Bytes)}, 4000, 225,
              &kept_memory_, 6);
    const std::vector<ColumnSpec> source = kept.source(2);
    const KeptScan scan = kept.scan();
    int all_there = 0, some_there = 0;
    for (uint64_t memory = 1u << 20; memory <= 64u << 20; memory *= 2) {
        make_device(memory);
        for (int round = 0; round < 2; round++) {
            KeptPosition position;
            int on_device = 0;
            EXPECT_EQ(read(scan, position, source, 64u << 10, &on_device), kept.expected(2)) << memory;
            EXPECT_LE(device_->resident().bytes(), memory / 2);
            all_there += on_device * (64u << 10) > kept.rows.size();
            some_there += on_device > 0;
        }
    }
    EXPECT_GT(all_there, 0);
    EXPECT_LT(some_there, 14);
}

// After each of its batches, which it gives once more or not.
TEST_P(CudaKept, LeavesTheDevice) {
    Kept kept({kept_column(ColumnType::Fixed8), kept_column(ColumnType::Bytes, ValueOrder::Bytes)}, 4000, 225,
              &kept_memory_, 8);
    add_condition(kept.conditions, interval_condition(-100, 200, 0, KeptTest::Outside));
    const std::vector<ColumnSpec> source = kept.source(2);
    const KeptScan scan = kept.scan();
    for (int before = 0; before < 5; before++)
        for (bool again : {false, true}) {
            KeptPosition position;
            auto reader = make_resident_reader(device_.get(), scan, position, source, 128u << 10, limits());
            EXPECT_FALSE(reader->has_begun());
            std::vector<KeptRow> all;
            for (int given = 0;; given++) {
                if (given == before) {
                    reader->leave_device(again && before > 0);
                    EXPECT_EQ(device_memory_.used(), 0u);
                }
                BatchView batch;
                ASSERT_OK(reader->next(&batch));
                if (batch.rows == 0) break;
                EXPECT_EQ(batch.memory, given < before ? Memory::Device : Memory::Host);
                if (again && given + 1 == before) continue;
                const Downloaded some(batch, source);
                all.insert(all.end(), some.rows.begin(), some.rows.end());
            }
            EXPECT_EQ(all, kept.expected(2));
        }
}

TEST_P(CudaKept, GivesMemoryUpToJoins) {
    constexpr uint64_t kMemory = 64u << 20;
    make_device(kMemory);
    Kept kept({kept_column(ColumnType::Fixed8), kept_column(ColumnType::Fixed16, ValueOrder::Bytes)}, 4000,
              450, &kept_memory_, 7);
    const std::vector<ColumnSpec> source = kept.source(2);
    const KeptScan scan = kept.scan();
    for (int round = 0; round < 2; round++) {
        {
            KeptPosition position;
            EXPECT_EQ(read(scan, position, source, 64u << 10), kept.expected(2));
        }
        EXPECT_GT(device_->resident().bytes(), kMemory / 4);
        StreamLease stream;
        ASSERT_OK(stream.acquire(&device_->streams()));
        MemoryAccount account(&device_->pool(), nullptr);
        DeviceArray<std::byte> of_join;
        ASSERT_OK(of_join.allocate(account, kMemory / 8 * 7, stream.handle()));
        EXPECT_LE(device_->resident().bytes(), kMemory / 8);
    }
}

// Columns of chunks that are gone make room.
TEST_P(CudaKept, ForgetsChunksThatAreGone) {
    make_device(64u << 20);
    for (uint32_t seed = 0; seed < 12; seed++) {
        Kept kept({kept_column(ColumnType::Fixed8)}, 4000, 225, &kept_memory_, seed);
        expect_same(kept, 1);
    }
}

INSTANTIATE_TEST_SUITE_P(Engines, CudaKept, testing::Values("cuda"),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace
}  // namespace gpujoin::test
#endif
