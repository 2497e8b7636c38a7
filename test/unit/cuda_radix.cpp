// The joins of the CUDA engine whose results come in any order: the radix join, which takes build sides
// larger than the device's cache, and the merge of sorted sides. What they return is compared with a sorted
// search on the host, by count and by a sum over all result rows that does not depend on their order.
#include "engine_harness.h"
#include "engine_tables.h"

#ifdef GPUJOIN_TEST_CUDA
#include "cuda_block.h"
#include "cuda_radix_engine.h"
#include "engine_collisions.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>

#include "engine/hash.h"

namespace gpujoin::test {

namespace {

constexpr uint64_t kBuildRows = 4'500'000;  // a table of which is larger than half of any cache

// A relation: key, row number times three, and a second column that is its complement; the key may be split
// into two columns, of which the other is the last.
struct Relation {
    std::vector<uint64_t> keys;
    std::vector<bool> null;

    uint64_t rows() const { return keys.size(); }
    bool is_null(uint64_t row) const { return !null.empty() && null[row]; }
};
constexpr uint64_t number_of(uint64_t row) {
    return 3 * row;
}

struct Shape {
    uint32_t key_bytes = 4;
    uint32_t build_bytes = 4;  // of the row number columns
    uint32_t probe_bytes = 4;
    uint16_t outputs = 1;  // 2: the complement too
    Memory memory = Memory::Host;
    uint64_t sink_bytes = 8 << 20;
    Algorithm algorithm = Algorithm::Auto;
    bool split = false;
};

struct Total {
    uint64_t rows = 0;
    uint64_t sum = 0;
    bool operator==(const Total&) const = default;
    void add(uint64_t build, uint64_t probe) {
        rows++;
        sum += mix(build * 0x9e3779b97f4a7c15u + mix(probe));
    }
};

Total expected_total(const Relation& build, const Relation& probe) {
    std::vector<std::pair<uint64_t, uint64_t>> sorted;
    for (uint64_t i = 0; i < build.rows(); i++)
        if (!build.is_null(i)) sorted.emplace_back(build.keys[i], i);
    std::sort(sorted.begin(), sorted.end());
    Total total;
    for (uint64_t i = 0; i < probe.rows(); i++) {
        if (probe.is_null(i)) continue;
        auto first = std::lower_bound(sorted.begin(), sorted.end(), std::pair{probe.keys[i], uint64_t{0}});
        for (; first != sorted.end() && first->first == probe.keys[i]; ++first)
            total.add(number_of(first->second), number_of(i));
    }
    return total;
}

// The halves of a split key: both far from zero, and few of the second.
constexpr uint64_t kSecondHalves = 5000;
uint64_t first_half(uint64_t key) {
    return (uint64_t{1} << 60) + key / kSecondHalves;
}
uint64_t second_half(uint64_t key) {
    return (uint64_t{1} << 50) - key % kSecondHalves;
}

// The columns of a relation as a batch.
class Columns {
  public:
    Columns(const Relation& relation, uint32_t key_bytes, uint32_t number_bytes, Memory memory,
            bool split = false)
        : memory_(memory), rows_(relation.rows()) {
        auto key = [&](uint64_t row) { return relation.is_null(row) ? 0 : relation.keys[row]; };
        add(key_bytes, [&](uint64_t row) { return split ? first_half(key(row)) : key(row); });
        add(number_bytes, [](uint64_t row) { return number_of(row); });
        add(number_bytes, [](uint64_t row) { return ~number_of(row); });
        if (split) add(key_bytes, [&](uint64_t row) { return second_half(key(row)); });
        if (relation.null.empty()) return;
        std::vector<std::byte> bits(validity_bytes(rows_));
        for (uint64_t i = 0; i < rows_; i++)
            if (!relation.null[i]) bits[i / 8] |= std::byte{1} << (i % 8);
        views_[0].validity = reinterpret_cast<const uint8_t*>(keep(bits));
    }
    BatchView view() const { return {rows_, views_, memory_, 0, true}; }

  private:
    void add(uint32_t width, const std::function<uint64_t(uint64_t)>& value) {
        std::vector<std::byte> bytes(rows_ * width + 8);
        for (uint64_t i = 0; i < rows_; i++) {
            uint64_t v = value(i);
            std::memcpy(&bytes[i * width], &v, width);
        }
        ColumnView view;
        view.values = keep(bytes);
        views_.push_back(view);
    }
    const std::byte* keep(const std::vector<std::byte>& bytes) {
        blocks_.push_back(std::make_unique<Block>(bytes.size(), memory_));
        blocks_.back()->copy_from(bytes.data(), bytes.size());
        return blocks_.back()->get();
    }

    const Memory memory_;
    const uint64_t rows_;
    std::vector<std::unique_ptr<Block>> blocks_;
    std::vector<ColumnView> views_;
};

ColumnSpec column_of(uint32_t width, bool nullable) {
    return fixed_column(width == 4 ? ColumnType::Fixed4 : ColumnType::Fixed8, ValueOrder::Unsigned, nullable);
}

JoinSpec radix_spec(const Shape& shape, const Relation& build, const Relation& probe) {
    JoinSpec spec{};
    spec.kind = JoinKind::Inner;
    spec.algorithm = shape.algorithm;
    spec.order = ResultOrder::Any;
    spec.build_columns = spec.probe_columns = 3;
    for (uint16_t i = 0; i < 3; i++) {
        spec.build[i] = column_of(i ? shape.build_bytes : shape.key_bytes, i == 0 && !build.null.empty());
        spec.probe[i] = column_of(i ? shape.probe_bytes : shape.key_bytes, i == 0 && !probe.null.empty());
    }
    add_equality(spec, 0, 0);
    if (shape.split) {
        spec.build[spec.build_columns++] = spec.probe[spec.probe_columns++] =
            column_of(shape.key_bytes, false);
        add_equality(spec, 3, 3);
    }
    for (uint16_t i = 0; i < shape.outputs; i++) {
        spec.output[spec.outputs++] = i + 1;
        spec.carry[spec.carried++] = i + 1;
    }
    spec.estimated_probe_rows = probe.rows();
    return spec;
}

// A sink's contents on the host.
struct Received {
    const JoinSpec& spec;
    const ResultBatch& result;
    std::vector<std::byte> bytes;

    uint64_t value(uint32_t column, uint64_t row) const {
        bool carried = column >= spec.outputs;
        const ColumnSpec& from =
            carried ? spec.probe[spec.carry[column - spec.outputs]] : spec.build[spec.output[column]];
        uint32_t width = fixed_width(from.type);
        uint64_t value = 0;
        std::memcpy(&value, &bytes[result.columns[column].values + row * width], width);
        return value;
    }
};

void drain_radix(Cursor& cursor, const JoinSpec& spec, const Shape& shape, Total* total) {
    Block sink(shape.sink_bytes, shape.memory);
    for (ResultBatch result; !result.done;) {
        result = {};
        ASSERT_OK(cursor.next({sink.get(), shape.sink_bytes, shape.memory}, &result));
        ASSERT_EQ(result.bytes_needed, 0u);
        ASSERT_EQ(result.probe_rows, kNoBuffer);
        if (result.rows == 0) continue;
        ASSERT_LE(result.bytes, shape.sink_bytes);
        Received received{spec, result, std::vector<std::byte>(result.bytes)};
        ASSERT_EQ(cudaMemcpy(received.bytes.data(), sink.get(), result.bytes, cudaMemcpyDefault),
                  cudaSuccess);
        for (uint64_t i = 0; i < result.rows; i++) {
            uint64_t build = received.value(0, i), probe = received.value(spec.outputs, i);
            total->add(build, probe);
            if (spec.outputs == 1) continue;
            uint64_t mask = fixed_width(spec.build[2].type) == 4 ? UINT32_MAX : UINT64_MAX;
            ASSERT_EQ(received.value(1, i), ~build & mask);
        }
    }
}

class CudaRadixTest : public EngineTest {
  protected:
    void run(const Relation& build, const Relation& probe, const Shape& shape) {
        JoinSpec spec = radix_spec(shape, build, probe);
        ASSERT_OK(validate(spec));
        Columns build_columns(build, shape.key_bytes, shape.build_bytes, shape.memory, shape.split);
        std::unique_ptr<Join> join;
        ASSERT_OK(engine_->open(spec, limits(), &join));
        ASSERT_OK(join->append(build_columns.view(), 0));
        SealReport report;
        ASSERT_OK(join->seal(&report));
        ASSERT_EQ(report.order, ResultOrder::Any) << "the build side is neither partitioned nor sorted";
        ASSERT_EQ(report.algorithm, shape.algorithm == Algorithm::Auto ? Algorithm::Hash : shape.algorithm);
        Columns probe_columns(probe, shape.key_bytes, shape.probe_bytes, shape.memory, shape.split);
        std::unique_ptr<Cursor> cursor;
        ASSERT_OK(join->probe(probe_columns.view(), &cursor));
        Total total;
        drain_radix(*cursor, spec, shape, &total);
        Total expected = expected_total(build, probe);
        EXPECT_EQ(total.rows, expected.rows);
        EXPECT_EQ(total.sum, expected.sum);
    }
};

// Keys are spread by an odd constant, which keeps different numbers different.
Relation make_relation(uint64_t rows, uint32_t key_bytes, const std::function<uint64_t(uint64_t)>& number) {
    Relation relation;
    uint64_t mask = key_bytes == 4 ? UINT32_MAX : UINT64_MAX;
    for (uint64_t i = 0; i < rows; i++) relation.keys.push_back(number(i) * 0x9e3779b97f4a7c15u & mask);
    return relation;
}

uint64_t random_number(uint64_t i) {
    return mix(i + 12345) >> 8;
}

TEST_P(CudaRadixTest, PlainJoin) {
    auto every = [](uint64_t i) { return i; };
    auto some = [](uint64_t i) { return 2 * i; };
    run(make_relation(kBuildRows, 4, every), make_relation(kBuildRows / 3, 4, some),
        {4, 4, 4, 1, Memory::Device});
}

TEST_P(CudaRadixTest, UniqueKeysOfEveryWidth) {
    for (Memory memory : {Memory::Host, Memory::Device}) {
        for (uint32_t key : {4, 8}) {
            for (uint32_t build_bytes : {4, 8}) {
                for (uint32_t probe_bytes : {4, 8}) {
                    SCOPED_TRACE(testing::Message() << key << ", " << build_bytes << ", " << probe_bytes);
                    Relation build = make_relation(kBuildRows, key, [](uint64_t i) { return i; });
                    Relation probe = make_relation(kBuildRows / 3, key, [](uint64_t i) {
                        return random_number(i) % (kBuildRows + kBuildRows / 4);
                    });
                    run(build, probe, {key, build_bytes, probe_bytes, 1, memory});
                    if (HasFatalFailure()) return;
                }
            }
        }
    }
}

TEST_P(CudaRadixTest, DuplicatesAndSeveralColumns) {
    for (uint16_t outputs : {1, 2}) {
        for (Memory memory : {Memory::Host, Memory::Device}) {
            auto number = [](uint64_t i) { return random_number(i) % (kBuildRows / 3); };
            Relation build = make_relation(kBuildRows, 8, number);
            Relation probe = make_relation(kBuildRows / 3, 8, [](uint64_t i) { return i; });
            run(build, probe, {8, 4, 8, outputs, memory});
            if (HasFatalFailure()) return;
        }
    }
}

// Half of the build rows share a key that three probe rows have; then the other way round.
TEST_P(CudaRadixTest, HotKeysOnEitherSide) {
    auto hot = [](uint64_t i) { return i % 2 ? 7 : i + 8; };
    auto cold = [](uint64_t i) { return i % 600'000 == 5 ? 7 : 2 * i; };
    for (Memory memory : {Memory::Host, Memory::Device}) {
        run(make_relation(kBuildRows, 4, hot), make_relation(kBuildRows / 3, 4, cold), {4, 4, 4, 1, memory});
        run(make_relation(kBuildRows, 4, cold), make_relation(kBuildRows / 3, 4, hot), {4, 4, 4, 1, memory});
        if (HasFatalFailure()) return;
    }
}

// One key everywhere: every partition but one is empty, and every probe row has very many matches.
TEST_P(CudaRadixTest, AllKeysEqual) {
    auto one = [](uint64_t) { return 1; };
    auto rarely = [](uint64_t i) { return i == 1000 || i == 900'000 ? 1 : 2 + i; };
    run(make_relation(kBuildRows, 4, one), make_relation(kBuildRows / 3, 4, rarely),
        {4, 4, 4, 1, Memory::Device, 1 << 20});
}

TEST_P(CudaRadixTest, NullsMatchNothing) {
    Relation build = make_relation(kBuildRows, 4, [](uint64_t i) { return i; });
    Relation probe = make_relation(kBuildRows / 3, 4, [](uint64_t i) { return 2 * i; });
    for (uint64_t i = 0; i < build.rows(); i++) build.null.push_back(random_number(i) % 5 == 0);
    for (uint64_t i = 0; i < probe.rows(); i++) probe.null.push_back(random_number(i) % 3 == 0);
    for (Memory memory : {Memory::Host, Memory::Device}) run(build, probe, {4, 4, 4, 1, memory});
    Relation no_key = make_relation(kBuildRows / 3, 4, [](uint64_t i) { return i; });
    no_key.null.assign(no_key.rows(), true);
    run(build, no_key, {4, 4, 4, 1, Memory::Host});
}

TEST_P(CudaRadixTest, SinksOfEverySize) {
    for (uint32_t key : {4, 8}) {
        Relation build = make_relation(kBuildRows, key, [](uint64_t i) { return i % (kBuildRows / 2); });
        Relation probe = make_relation(kBuildRows / 3, key, [](uint64_t i) { return i; });
        for (uint64_t sink_bytes : {20'000, 70'000, 1'000'000}) {
            for (Memory memory : {Memory::Host, Memory::Device})
                run(build, probe, {key, 4, 4, 1, memory, sink_bytes});
        }
    }
}

// All rows in one partition, which is more items than are listed at a time, and sinks that end between.
TEST_P(CudaRadixTest, ItemsOfSeveralLists) {
    Relation build, probe;
    for (uint64_t i = 0; i < kBuildRows; i++) build.keys.push_back(unmix(i << 12 | 1));
    for (uint64_t i = 0; i < 3'000'000; i++) probe.keys.push_back(unmix(3 * i << 12 | 1));
    run(build, probe, {8, 4, 4, 1, Memory::Device, 1 << 20});
}

// Keys of 8 bytes close together, and two such columns: what they have of a key of 4 bytes. Some probe keys
// lie below and above the build side's.
TEST_P(CudaRadixTest, CloseKeys) {
    constexpr uint64_t kFirst = kSecondHalves * 1000;
    Relation build, probe;
    for (uint64_t i = 0; i < kBuildRows; i++) build.keys.push_back(kFirst + random_number(i) % kBuildRows);
    for (uint64_t i = 0; i < kBuildRows / 3; i++) probe.keys.push_back(kFirst / 2 + 5 * i);
    for (bool nulls : {false, true}) {
        for (uint64_t i = 0; nulls && i < probe.rows(); i++) probe.null.push_back(random_number(i) % 3 == 0);
        for (uint64_t i = 0; nulls && i < build.rows(); i++) build.null.push_back(random_number(i) % 7 == 0);
        for (bool split : {false, true}) {
            for (uint32_t payload : {4, 8}) {
                for (uint16_t outputs : {1, 2}) {
                    SCOPED_TRACE(testing::Message()
                                 << nulls << ", " << split << ", " << payload << ", " << outputs);
                    run(build, probe,
                        {8, payload, payload, outputs, Memory::Device, 8 << 20, Algorithm::Auto, split});
                    if (HasFatalFailure()) return;
                }
            }
        }
    }
}

// Batches that do not pay for partitioning are looked up in one table, made on demand.
TEST_P(CudaRadixTest, SmallBatchesAfterPartitioning) {
    Relation build = make_relation(kBuildRows, 4, [](uint64_t i) { return i; });
    Relation probe = make_relation(1000, 4, [](uint64_t i) { return 2 * i; });
    Shape shape;
    JoinSpec spec = radix_spec(shape, build, probe);
    spec.estimated_probe_rows = kBuildRows;
    std::unique_ptr<Join> join;
    ASSERT_OK(engine_->open(spec, limits(), &join));
    Columns build_columns(build, 4, 4, Memory::Host);
    ASSERT_OK(join->append(build_columns.view(), 0));
    SealReport report;
    ASSERT_OK(join->seal(&report));
    ASSERT_EQ(report.order, ResultOrder::Any);
    Columns probe_columns(probe, 4, 4, Memory::Host);
    for (int repeat = 0; repeat < 2; repeat++) {
        std::unique_ptr<Cursor> cursor;
        ASSERT_OK(join->probe(probe_columns.view(), &cursor));
        Total total;
        drain_radix(*cursor, spec, shape, &total);
        EXPECT_EQ(total, expected_total(build, probe));
    }
}

// The same at any size, as on a device without a cache to speak of; in device memory, where payloads go
// straight into the sink.
class CudaSmallRadixTest : public CudaRadixTest {
  protected:
    void SetUp() override {
        CudaRadixTest::SetUp();
        if (IsSkipped()) return;
        ASSERT_OK(make_cuda_radix_engine(&radix_engine_));
        engine_ = radix_engine_.get();
    }

    void run_widths(const Relation& build, const Relation& probe, uint32_t key_bytes) {
        for (auto [build_bytes, probe_bytes] : {std::pair{4u, 4u}, {4u, 8u}, {8u, 4u}, {8u, 8u}}) {
            SCOPED_TRACE(testing::Message() << build.rows() << " x " << probe.rows() << " rows, " << key_bytes
                                            << ", " << build_bytes << ", " << probe_bytes << " bytes");
            run(build, probe, {key_bytes, build_bytes, probe_bytes, 1, Memory::Device, 1 << 20});
            if (HasFatalFailure()) return;
        }
    }

  private:
    std::unique_ptr<Engine> radix_engine_;
};

// Sides of fewer probe rows than a quarter of the build rows are not partitioned. 4096 rows of 4-byte keys,
// and 2048 of 8 bytes, are one partition.
TEST_P(CudaSmallRadixTest, SizesWhereCodeBreaks) {
    for (uint32_t key : {4, 8}) {
        for (uint64_t build_rows : {1, 31, 32, 33, 1000, 2048, 4097, 9000}) {
            for (uint64_t probe_rows : {1, 31, 32, 33, 1000, 2049, 9000}) {
                if (probe_rows < build_rows / 4) continue;
                run_widths(make_relation(build_rows, key, [](uint64_t i) { return i; }),
                           make_relation(probe_rows, key, [](uint64_t i) { return random_number(i) % 9000; }),
                           key);
                if (HasFatalFailure()) return;
            }
        }
    }
}

TEST_P(CudaSmallRadixTest, AllKeysEqualOrNull) {
    for (uint32_t key : {4, 8}) {
        Relation one = make_relation(300, key, [](uint64_t) { return 1; });
        run_widths(one, one, key);
        Relation null = one;
        null.null.assign(null.rows(), true);
        run_widths(null, one, key);
        run_widths(one, null, key);
        run_widths(null, null, key);
    }
}

// Different keys whose mixed bits are alike: where a partition is chosen, which is the lowest, so that all
// rows are in one that is larger than a table; where a place in the table is; and where that is the last, so
// that the search goes on at the first.
TEST_P(CudaSmallRadixTest, AdversarialHashes) {
    constexpr uint64_t kRows = 10'000;
    for (uint32_t fixed_bits : {3, 12}) {
        Relation keys4, keys8;
        for (uint64_t i = 0; i < kRows; i++) {
            keys4.keys.push_back(unmix32(static_cast<uint32_t>(i << fixed_bits | 1)));
            keys8.keys.push_back(unmix(i << (4 * fixed_bits) | 1));
        }
        run_widths(keys4, keys4, 4);
        run_widths(keys8, keys8, 8);
    }
    Relation last4, last8;
    for (uint64_t i = 0; i < kRows; i++) {
        last4.keys.push_back(unmix32(static_cast<uint32_t>(i << 14 | 0x3fff)));
        last8.keys.push_back(unmix(i << 14 | 0x3fff));
    }
    run_widths(last4, last4, 4);
    run_widths(last8, last8, 8);
}

TEST_P(CudaSmallRadixTest, MillionRows) {
    constexpr uint64_t kRows = 1'000'000;
    for (uint32_t key : {4, 8}) {
        Relation unique = make_relation(kRows, key, [](uint64_t i) { return i; });
        Relation some = make_relation(kRows, key, [](uint64_t i) { return random_number(i) % (2 * kRows); });
        run_widths(unique, some, key);
        run_widths(some, unique, key);
        if (HasFatalFailure()) return;
    }
}

class CudaMergeTest : public CudaRadixTest {
  protected:
    // In host and device memory, with values that ride along and without.
    void run_merge(const Relation& build, const Relation& probe, uint32_t key_bytes,
                   uint64_t sink_bytes = 8 << 20) {
        for (Memory memory : {Memory::Host, Memory::Device}) {
            for (auto [payload, outputs] :
                 {std::pair{4u, uint16_t{1}}, {8u, uint16_t{1}}, {4u, uint16_t{2}}}) {
                SCOPED_TRACE(testing::Message()
                             << key_bytes << "-byte keys, " << outputs << " outputs of " << payload
                             << " bytes, " << build.rows() << " x " << probe.rows() << " rows");
                run(build, probe,
                    {key_bytes, payload, payload, outputs, memory, sink_bytes, Algorithm::SortMerge});
                if (HasFatalFailure()) return;
            }
        }
    }
};

TEST_P(CudaMergeTest, CloseKeys) {
    for (uint64_t rows : {0, 1, 33, 2049, 300'000}) {
        Relation build, probe;
        for (uint64_t i = 0; i < rows; i++) build.keys.push_back(10'000'000 + random_number(i) % (rows + 5));
        for (uint64_t i = 0; i < 5000; i++) probe.keys.push_back(10'000'000 - 50 + i);
        run_merge(build, probe, 8);
        for (uint16_t outputs : {1, 2})  // no places without rows
            if (rows > 0)
                run(build, probe, {8, 4, 4, outputs, Memory::Host, 8 << 20, Algorithm::SortMerge, true});
        if (HasFatalFailure()) return;
    }
}

TEST_P(CudaMergeTest, SizesWhereCodeBreaks) {
    for (uint32_t key : {4, 8}) {
        for (uint64_t build_rows : {0, 1, 31, 32, 33, 1000, 2048, 2049}) {
            for (uint64_t probe_rows : {0, 1, 31, 32, 33, 1000, 2048, 2049}) {
                run_merge(make_relation(build_rows, key, [](uint64_t i) { return i; }),
                          make_relation(probe_rows, key, [](uint64_t i) { return random_number(i) % 1500; }),
                          key);
                if (HasFatalFailure()) return;
            }
        }
    }
}

TEST_P(CudaMergeTest, MillionRows) {
    constexpr uint64_t kRows = 1'000'000;
    for (uint32_t key : {4, 8}) {
        Relation unique = make_relation(kRows, key, [](uint64_t i) { return i; });
        Relation some = make_relation(kRows, key, [](uint64_t i) { return random_number(i) % (2 * kRows); });
        run_merge(unique, some, key);
        run_merge(some, unique, key);
        run_merge(some, some, key, 1 << 20);
        if (HasFatalFailure()) return;
    }
}

// Tiles with very many pairs, next to tiles with few.
TEST_P(CudaMergeTest, HotKeysOnEitherSide) {
    auto hot = [](uint64_t i) { return i % 2 ? 7 : i + 8; };
    auto cold = [](uint64_t i) { return i % 5000 == 5 ? 7 : 2 * i; };
    Relation many = make_relation(100'000, 4, hot), few = make_relation(30'000, 4, cold);
    run_merge(many, few, 4);
    run_merge(few, many, 4);
    run_merge(few, many, 4, 100'000);
}

TEST_P(CudaMergeTest, AllKeysEqual) {
    Relation one = make_relation(1500, 8, [](uint64_t) { return 1; });
    run_merge(one, one, 8);
    run_merge(one, one, 8, 300'000);
}

TEST_P(CudaMergeTest, NullsMatchNothing) {
    Relation build = make_relation(40'000, 4, [](uint64_t i) { return i; });
    Relation probe = make_relation(30'000, 4, [](uint64_t i) { return 2 * i; });
    for (uint64_t i = 0; i < build.rows(); i++) build.null.push_back(random_number(i) % 5 == 0);
    run_merge(build, probe, 4);
    for (uint64_t i = 0; i < probe.rows(); i++) probe.null.push_back(random_number(i) % 3 == 0);
    run_merge(build, probe, 4);
    probe.null.assign(probe.rows(), true);
    run_merge(build, probe, 4);
}

// Batches that stay in device memory are not copied but for being put together.
TEST_P(CudaMergeTest, SeveralBatchesOnTheDevice) {
    Relation build = make_relation(5000, 4, [](uint64_t i) { return i; });
    Relation probe = make_relation(3000, 4, [](uint64_t i) { return 2 * i; });
    Shape shape{4, 4, 4, 1, Memory::Device, 8 << 20, Algorithm::SortMerge};
    JoinSpec spec = radix_spec(shape, build, probe);
    Columns build_columns(build, 4, 4, Memory::Device);
    std::unique_ptr<Join> join;
    ASSERT_OK(engine_->open(spec, limits(), &join));
    uint64_t before = device_memory_.used();
    for (auto [first, rows] : {std::pair<uint64_t, uint64_t>{0, 3008}, {3008, 64}, {3072, 1928}}) {
        BatchView whole = build_columns.view();
        std::vector<ColumnView> part(whole.columns.begin(), whole.columns.end());
        for (ColumnView& column : part) column.values += first * 4;
        ASSERT_OK(join->append({rows, part, Memory::Device, 0, true}, first));
    }
    EXPECT_EQ(device_memory_.used(), before);
    auto expect_export = [&] {
        uint64_t row = 0;
        ASSERT_OK(join->export_build([&](const BatchView& batch, uint64_t first_row) {
            EXPECT_EQ(first_row, row);
            auto* numbers = reinterpret_cast<const uint32_t*>(batch.columns[1].values);
            for (uint64_t i = 0; i < batch.rows; i++, row++) EXPECT_EQ(numbers[i], number_of(row));
            return Status{};
        }));
        EXPECT_EQ(row, build.rows());
    };
    expect_export();
    SealReport report;
    ASSERT_OK(join->seal(&report));
    expect_export();
    Columns probe_columns(probe, 4, 4, Memory::Device);
    std::unique_ptr<Cursor> cursor;
    ASSERT_OK(join->probe(probe_columns.view(), &cursor));
    Total total;
    drain_radix(*cursor, spec, shape, &total);
    EXPECT_EQ(total, expected_total(build, probe));
}

INSTANTIATE_TEST_SUITE_P(Engines, CudaSmallRadixTest, testing::Values("cuda"),
                         [](const auto& parameter) { return std::string(parameter.param); });
INSTANTIATE_TEST_SUITE_P(Engines, CudaMergeTest, testing::Values("cuda"),
                         [](const auto& parameter) { return std::string(parameter.param); });
INSTANTIATE_TEST_SUITE_P(Engines, CudaRadixTest, testing::Values("cuda"),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace
}  // namespace gpujoin::test
#endif
