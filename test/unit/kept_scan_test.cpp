// KeptRows: conditions on integers of all widths, columns that are widened, maps of some blocks, and little
// memory, against a plain reading of the same rows. And scans that are refused.
#include <gtest/gtest.h>

#include <numeric>

#include "engine/kept/kept_conditions.h"
#include "kept_chunks.h"
#include "sanitized.h"

namespace gpujoin::test {

namespace {

void expect_same(const Kept& kept, size_t columns, Ledger* ledger) {
    const std::vector<ColumnSpec> source = kept.source(columns);
    KeptScan scan = kept.scan();
    ASSERT_TRUE(validate_kept_scan(scan, source).ok());
    const std::vector<KeptRow> expected = kept.expected(columns);
    for (const bool skips : {false, true}) {
        if (skips) scan.skip_stretches();
        Status status;
        const std::vector<KeptRow> rows = scan_rows(scan, source, ledger, &status);
        ASSERT_TRUE(status.ok()) << status.message;
        ASSERT_EQ(rows, expected);
    }
}

const char* refusal_of(const Kept& kept, const std::vector<ColumnSpec>& source) {
    static Status status;
    status = validate_kept_scan(kept.scan(), source);
    return status.sqlstate;
}

}  // namespace

TEST(KeptScan, GivesTheRowsOfTheMapsBlocks) {
    Ledger ledger(1u << 26);
    Kept kept(all_columns(), 900, 60, &ledger, 1);
    expect_same(kept, kept.columns.size(), &ledger);
    leave_blocks_out(kept);
    expect_same(kept, kept.columns.size(), &ledger);
    expect_same(kept, 0, &ledger);
    for (ChunkMap& map : kept.maps) map = {};
    expect_same(kept, 3, &ledger);
}

TEST(KeptScan, TestsConditionsOfAllKinds) {
    Ledger ledger(1u << 26);
    for (const Kept::Order order : {Kept::Order::Random, Kept::Order::Narrow}) {
        Kept kept(all_columns(), 300, 50, &ledger, 2, 12, order);
        std::mt19937_64 random(3);
        size_t some = 0;
        constexpr size_t kRounds = kIsForThreads ? 20 : 300;
        for (size_t round = 0; round < kRounds; round++) {
            kept.choose_conditions(random);
            expect_same(kept, round % 2 == 0 ? kept.columns.size() : 8, &ledger);
            some += !kept.expected(1).empty();
        }
        EXPECT_GT(some, kRounds / 4);
    }
}

TEST(KeptScan, WidensIntegers) {
    Ledger ledger(1u << 26);
    for (const auto& [type, order] : {std::pair{ColumnType::Fixed4, Kept::Order::Random},
                                      {ColumnType::Fixed8, Kept::Order::Random},
                                      {ColumnType::Fixed8, Kept::Order::Narrow}}) {
        Kept kept({kept_column(ColumnType::Fixed1), kept_column(ColumnType::Fixed2),
                   kept_column(ColumnType::Fixed4)},
                  40, 50, &ledger, 4, 12, order);
        std::vector<ColumnSpec> source = kept.source(3);
        for (ColumnSpec& spec : source) spec.type = type;
        ASSERT_TRUE(validate_kept_scan(kept.scan(), source).ok());
        Status status;
        const std::vector<KeptRow> rows = scan_rows(kept.scan(), source, &ledger, &status);
        ASSERT_EQ(rows.size(), kept.rows.size());
        for (size_t i = 0; i < rows.size(); i++)
            for (size_t column = 0; column < 3; column++) {
                ASSERT_EQ(rows[i][column].has_value(), kept.rows[i][column].has_value());
                if (!rows[i][column]) continue;
                EXPECT_EQ(rows[i][column]->size(), fixed_width(type));
                EXPECT_EQ(integer_of(*rows[i][column], source[column]),
                          integer_of(*kept.rows[i][column], kept.columns[column].spec));
            }
    }
}

TEST(KeptScan, GivesMoreRowsThanABatchHas) {
    Ledger ledger(1u << 28);
    Kept kept({kept_column(ColumnType::Fixed4), kept_column(ColumnType::Bytes, ValueOrder::Bytes)}, 3000, 100,
              &ledger, 5);
    ASSERT_GT(kept.rows.size(), 130000u);
    expect_same(kept, 2, &ledger);
    add_condition(kept.conditions, interval_condition(-100, 200, 0, KeptTest::Outside));
    expect_same(kept, 2, &ledger);
}

TEST(KeptScan, LongValuesMakeShortBatches) {
    Ledger ledger(1u << 28);
    Kept kept({kept_column(ColumnType::Bytes, ValueOrder::Bytes)}, 200, 30, &ledger, 6, 20000);
    Ledger joins(1u << 24);
    const std::vector<ColumnSpec> source = kept.source(1);
    Status status;
    uint64_t most = 0;
    EXPECT_EQ(scan_rows(kept.scan(), source, &joins, &status, &most), kept.expected(1));
    EXPECT_TRUE(status.ok());
    EXPECT_LE(most, 1024u);
    EXPECT_EQ(joins.used(), 0u);
}

// Texts of each length that conditions may have, and those that differ from them in one byte or one more.
TEST(KeptScan, TellsTextsOfEveryLengthApart) {
    Ledger ledger(1u << 24);
    const std::vector<ChunkColumn> columns{kept_column(ColumnType::Bytes, ValueOrder::Bytes)};
    const std::string text = "0123456789abcdef";
    ASSERT_EQ(text.size(), kMaxKeptBytes);
    std::vector<KeptRow> rows{{std::nullopt}};
    for (size_t length = 0; length <= text.size(); length++) {
        rows.push_back({text.substr(0, length)});
        for (size_t i = 0; i < length; i++) {
            std::string other = text.substr(0, length);
            other[i] ^= 1;
            rows.push_back({other});
        }
        rows.push_back({text.substr(0, length) + '0'});
    }
    KeptChunk chunk(columns, &ledger);
    const std::vector<uint16_t> counts{static_cast<uint16_t>(rows.size())};
    ASSERT_TRUE(chunk.append(KeptBatch(columns, rows).view(), 0, counts).ok());
    chunk.seal();
    const std::vector<const KeptValues*> values{chunk.columns().data()};
    for (size_t length = 0; length <= text.size(); length++)
        for (const KeptTest test : {KeptTest::Same, KeptTest::Other}) {
            KeptCondition condition{};
            condition.test = test;
            condition.length = static_cast<uint8_t>(length);
            memcpy(condition.bytes, text.data(), length);
            condition.if_passed = kRowIsWanted;
            condition.if_failed = kRowIsUnwanted;
            std::vector<uint32_t> selected(rows.size()), expected;
            std::iota(selected.begin(), selected.end(), 0);
            std::vector<uint8_t> places(rows.size());
            selected.resize(select_passing(values, {&condition, 1}, selected.data(),
                                           static_cast<uint32_t>(rows.size()), places.data()));
            for (uint32_t i = 0; i < rows.size(); i++)
                if (rows[i][0] && (*rows[i][0] == text.substr(0, length)) == (test == KeptTest::Same))
                    expected.push_back(i);
            EXPECT_EQ(selected, expected) << length;
        }
}

// As of a column that is NULL in all rows: nothing is copied, from nowhere to nowhere. One row is not worth a
// dictionary.
TEST(KeptScan, ValuesMayHaveNoBytesAtAll) {
    Ledger ledger(1u << 26);
    const std::vector<ChunkColumn> columns{kept_column(ColumnType::Fixed4),
                                           kept_column(ColumnType::Bytes, ValueOrder::Bytes)};
    for (const uint32_t block_rows : {1u, 60u}) {
        const Kept kept(columns, block_rows == 1 ? 3 : 90, block_rows, &ledger, 9, 1);
        ASSERT_GT(kept.chunks[0]->rows(), 0u);
        const KeptValues& values = kept.chunks[0]->columns()[1];
        ASSERT_EQ(values.data.as<std::byte>() == nullptr, values.compression == KeptCompression::Plain);
        ASSERT_EQ(values.compression == KeptCompression::Plain, block_rows == 1);
        expect_same(kept, 2, &ledger);
    }
}

TEST(KeptScan, MakesDoWithLittleMemory) {
    Ledger ledger(1u << 28);
    Kept kept({kept_column(ColumnType::Fixed8), kept_column(ColumnType::Bytes, ValueOrder::Bytes)}, 500, 60,
              &ledger, 7);
    const std::vector<ColumnSpec> source = kept.source(2);
    int refused = 0, given = 0;
    for (uint64_t room = 256; room < 4u << 20; room *= 2) {
        Ledger joins(room);
        Status status;
        const std::vector<KeptRow> rows = scan_rows(kept.scan(), source, &joins, &status);
        (status.ok() ? given : refused)++;
        if (status.ok())
            EXPECT_EQ(rows, kept.expected(2)) << room;
        else
            EXPECT_STREQ(status.sqlstate, "53200");
        EXPECT_EQ(joins.used(), 0u);
    }
    EXPECT_GT(refused, 2);
    EXPECT_GT(given, 5);
}

TEST(KeptScan, RefusesWhatIsNotThere) {
    Ledger ledger(1u << 24);
    Kept kept(all_columns(), 2, 3, &ledger, 8);
    std::vector<ColumnSpec> source = kept.source(10);
    EXPECT_STREQ(refusal_of(kept, source), "00000");
    source.push_back(source[0]);
    EXPECT_STREQ(refusal_of(kept, source), "08P01");
    source = {{ColumnType::Fixed8, ValueOrder::Signed, 0, 0}};  // NULLs are not wanted
    EXPECT_STREQ(refusal_of(kept, source), "08P01");
    source = {kept.columns[0].spec, {ColumnType::Fixed1, ValueOrder::Signed, 1, 0}};  // narrower
    EXPECT_STREQ(refusal_of(kept, source), "08P01");
    source = {{ColumnType::Fixed16, ValueOrder::Signed, 1, 0}};
    EXPECT_STREQ(refusal_of(kept, source), "08P01");
    source = {{ColumnType::Fixed8, ValueOrder::Unsigned, 1, 0}};
    EXPECT_STREQ(refusal_of(kept, source), "08P01");
    for (uint32_t column : {8u, 9u, 12u, 65535u}) {
        kept.conditions = {interval_condition(0, 1, column)};
        EXPECT_STREQ(refusal_of(kept, {}), "08P01") << column;
    }
    kept.conditions = {interval_condition(0, 1, 7)};
    EXPECT_STREQ(refusal_of(kept, {}), "00000");
    kept.conditions[0].test = KeptTest::Same;  // of integers
    EXPECT_STREQ(refusal_of(kept, {}), "08P01");
    kept.conditions[0].column = 9;
    EXPECT_STREQ(refusal_of(kept, {}), "00000");
    kept.conditions[0].length = kMaxKeptBytes + 1;
    EXPECT_STREQ(refusal_of(kept, {}), "08P01");
    kept.conditions = {interval_condition(0, 1, 7)};
    kept.conditions[0].test = static_cast<KeptTest>(4);
    EXPECT_STREQ(refusal_of(kept, {}), "08P01");
    for (uint8_t next : {uint8_t{0}, uint8_t{1}, uint8_t{253}}) {
        kept.conditions = {interval_condition(0, 1, 7)};
        kept.conditions[0].if_failed = next;  // itself, and what is not there
        EXPECT_STREQ(refusal_of(kept, {}), "08P01") << int{next};
    }
}

}  // namespace gpujoin::test
