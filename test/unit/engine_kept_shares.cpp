// Kept rows as the source of a fragment: however many readers share them, one after the other or at once, and
// on however many devices, each row is aggregated once.
#include <cstring>
#include <map>
#include <thread>

#include "engine/kept/kept_cursor.h"
#include "engine_fragment_tables.h"
#include "kept_chunks.h"

namespace gpujoin::test {
namespace {

using Counts = std::map<KeptValue, int64_t>;

// Groups by the only column, with the number of rows.
TestFragment count_by_value(const ColumnSpec& column) {
    TestFragment fragment(Table{{Column{column, {}}}});
    fragment.input(TestFragment::of_source(0)).key(0).aggregate(AggregateFunction::Count);
    return fragment;
}

void add_counts(Cursor& cursor, Counts* counts) {
    SinkMemory memory(64 << 10);
    for (ResultBatch result; !result.done;) {
        ASSERT_OK(cursor.next(memory.sink(), &result));
        for (uint32_t row = 0; row < result.rows; row++) {
            const ColumnBuffers& keys = result.columns[0];
            const auto* validity = reinterpret_cast<const uint8_t*>(memory.data() + keys.validity);
            const bool is_null = keys.validity != kNoBuffer && !(validity[row / 8] >> (row % 8) & 1);
            int64_t value = 0, count = 0;
            memcpy(&value, memory.data() + keys.values + 8 * row, sizeof value);
            memcpy(&count, memory.data() + result.columns[1].values + 8 * row, sizeof count);
            (*counts)[is_null ? KeptValue() : kept_integer(value)] += count;
        }
    }
}

class KeptShares : public EngineTest {
  protected:
    void SetUp() override {
        EngineTest::SetUp();
        if (IsSkipped()) return;
        kept_ =
            std::make_unique<Kept>(std::vector{kept_column(ColumnType::Fixed8)}, 600, 40, &kept_memory_, 5);
        for (const KeptRow& row : kept_->expected(1)) expected_[row[0]]++;
        open_fragment(*engine_, fragment(), limits(), &fragment_);
    }
    const TestFragment& fragment() {
        static const TestFragment fragment = count_by_value(kept_column(ColumnType::Fixed8).spec);
        return fragment;
    }

    std::unique_ptr<Cursor> reader(KeptPosition& position) {
        const std::span<const ColumnSpec> source(fragment().view().spec->source, 1);
        return std::make_unique<KeptCursor>(
            *fragment_, engine_->read_kept(scan_, position, source, kRowsOfBatch, limits()));
    }
    void expect_all(const char* what) {
        std::unique_ptr<Cursor> flush;
        ASSERT_OK(fragment_->flush(&flush));
        Counts counts;
        add_counts(*flush, &counts);
        EXPECT_EQ(counts, expected_) << what;
        EXPECT_EQ(fragment_->sink_stats().rows, kept_->expected(1).size()) << what;
    }

    Ledger kept_memory_{uint64_t{1} << 30};
    std::unique_ptr<Kept> kept_;
    KeptScan scan_;
    Counts expected_;
    std::unique_ptr<Fragment> fragment_;
};

TEST_P(KeptShares, OneReaderReadsAll) {
    scan_ = kept_->scan();
    KeptPosition position;
    Counts escaped;
    add_counts(*reader(position), &escaped);
    EXPECT_TRUE(escaped.empty());
    expect_all("one reader");
}

// A reader that comes late finds nothing more.
TEST_P(KeptShares, OneReaderAfterTheOther) {
    scan_ = kept_->scan();
    KeptPosition position;
    Counts escaped;
    for (int i = 0; i < 3; i++) add_counts(*reader(position), &escaped);
    expect_all("three readers");
}

TEST_P(KeptShares, SeveralReadersAtOnce) {
    scan_ = kept_->scan();
    KeptPosition position;
    std::vector<std::thread> threads;
    for (int i = 0; i < 5; i++)
        threads.emplace_back([&] {
            Counts escaped;
            add_counts(*reader(position), &escaped);
        });
    for (std::thread& thread : threads) thread.join();
    expect_all("five readers");
}

// Some devices have no chunk of it, or none has.
TEST_P(KeptShares, FewChunks) {
    for (size_t left : {1, 0}) {
        scan_ = kept_->scan();
        scan_.parts.resize(left);
        KeptPosition position;
        Counts escaped;
        add_counts(*reader(position), &escaped);
        EXPECT_EQ(fragment_->sink_stats().rows, left > 0 ? scan_.rows() : 0);
        std::unique_ptr<Cursor> flush;
        ASSERT_OK(fragment_->flush(&flush));
        Counts counts;
        add_counts(*flush, &counts);
        EXPECT_EQ(counts.empty(), left == 0);
        flush.reset();
        open_fragment(*engine_, fragment(), limits(), &fragment_);
    }
}

GPUJOIN_FOR_EACH_ENGINE_AND_TWO(KeptShares);

}  // namespace
}  // namespace gpujoin::test
