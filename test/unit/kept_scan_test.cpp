// KeptRows: conditions on integers of all widths, columns that are widened, maps of some blocks, and little
// memory, against a plain reading of the same rows. And scans that are refused.
#include <gtest/gtest.h>

#include <random>

#include "kept_rows.h"

namespace gpujoin::test {

namespace {

constexpr ColumnType kWidths[] = {ColumnType::Fixed1, ColumnType::Fixed2, ColumnType::Fixed4,
                                  ColumnType::Fixed8};

// Signed and unsigned integers of all widths, 16 bytes, and strings.
std::vector<ChunkColumn> all_columns() {
    std::vector<ChunkColumn> columns;
    for (ValueOrder order : {ValueOrder::Signed, ValueOrder::Unsigned})
        for (ColumnType type : kWidths) columns.push_back(kept_column(type, order));
    columns.push_back(kept_column(ColumnType::Fixed16, ValueOrder::Bytes));
    columns.push_back(kept_column(ColumnType::Bytes, ValueOrder::Bytes));
    return columns;
}

int64_t integer_of(const std::string& bytes, const ColumnSpec& spec) {
    uint64_t value = 0;
    memcpy(&value, bytes.data(), bytes.size());
    const int unused = 64 - 8 * static_cast<int>(bytes.size());
    return spec.order == ValueOrder::Signed ? static_cast<int64_t>(value << unused) >> unused
                                            : static_cast<int64_t>(value);
}

// A chunk of random rows, and these.
struct Kept {
    std::vector<ChunkColumn> columns;
    std::vector<KeptRow> rows;
    std::vector<uint32_t> blocks;  // of the rows
    std::shared_ptr<KeptChunk> chunk;
    KeptScan scan;

    Kept(std::vector<ChunkColumn> of, uint32_t block_count, uint32_t block_rows, Ledger* ledger,
         uint32_t seed, size_t text_bytes = 12)
        : columns(std::move(of)), chunk(std::make_shared<KeptChunk>(columns, ledger)) {
        std::mt19937_64 random(seed);
        for (uint32_t i = 0; i < block_count; i++) {
            const uint32_t block = 2 * i;
            std::vector<KeptRow> some(random() % (block_rows + 1));
            for (KeptRow& row : some) make_row(row, random, text_bytes);
            const std::vector<uint16_t> counts{static_cast<uint16_t>(some.size())};
            EXPECT_TRUE(chunk->append(KeptBatch(columns, some).view(), block, counts).ok());
            rows.insert(rows.end(), some.begin(), some.end());
            blocks.insert(blocks.end(), some.size(), block);
            scan.map.add(block);
        }
        chunk->seal();
        scan.view.chunks = {chunk};
        for (const KeptValues& values : chunk->columns()) scan.view.columns.push_back(&values);
    }

    std::vector<ColumnSpec> source(size_t count) const {
        std::vector<ColumnSpec> specs;
        for (size_t i = 0; i < count; i++) specs.push_back(columns[i].spec);
        return specs;
    }

    // What the scan should give of the first columns.
    std::vector<KeptRow> expected(size_t count) const {
        std::vector<KeptRow> passed;
        for (size_t i = 0; i < rows.size(); i++)
            if (scan.map.has(blocks[i]) && passes(rows[i]))
                passed.emplace_back(rows[i].begin(), rows[i].begin() + static_cast<int>(count));
        return passed;
    }

  private:
    void make_row(KeptRow& row, std::mt19937_64& random, size_t text_bytes) const {
        for (const ChunkColumn& column : columns) {
            std::string bytes(fixed_width(column.spec.type), '\0');
            if (column.spec.type == ColumnType::Bytes) bytes.resize(random() % text_bytes);
            const bool is_small = random() % 2 == 0;
            for (size_t i = 0; i < bytes.size(); i++)
                bytes[i] = static_cast<char>(is_small && i > 0 ? 0 : random());
            row.push_back(random() % 10 == 0 ? KeptValue() : KeptValue(bytes));
        }
    }
    bool passes(const KeptRow& row) const {
        for (const KeptCondition& condition : scan.conditions) {
            const KeptValue& value = row[condition.column];
            if (!value) return false;
            const uint64_t distance =
                static_cast<uint64_t>(integer_of(*value, columns[condition.column].spec)) -
                static_cast<uint64_t>(condition.low);
            if ((distance <= condition.span) == (condition.outside != 0)) return false;
        }
        return true;
    }
};

void expect_same(const Kept& kept, size_t columns, Ledger* ledger) {
    const std::vector<ColumnSpec> source = kept.source(columns);
    ASSERT_TRUE(validate_kept_scan(kept.scan, source).ok());
    Status status;
    const std::vector<KeptRow> rows = scan_rows(kept.scan, source, ledger, &status);
    ASSERT_TRUE(status.ok()) << status.message;
    ASSERT_EQ(rows, kept.expected(columns));
}

const char* refusal_of(const Kept& kept, const std::vector<ColumnSpec>& source) {
    static Status status;
    status = validate_kept_scan(kept.scan, source);
    return status.sqlstate;
}

}  // namespace

TEST(KeptScan, GivesTheRowsOfTheMapsBlocks) {
    Ledger ledger(1u << 26);
    Kept kept(all_columns(), 900, 60, &ledger, 1);
    expect_same(kept, kept.columns.size(), &ledger);
    for (uint32_t block = 0; block < kChunkBlocks; block++)
        if (block % 7 < 3) kept.scan.map.bits[block / 8] &= static_cast<uint8_t>(~(1u << block % 8));
    expect_same(kept, kept.columns.size(), &ledger);
    expect_same(kept, 0, &ledger);
    kept.scan.map = {};
    expect_same(kept, 3, &ledger);
}

TEST(KeptScan, TestsConditionsOfAllWidths) {
    Ledger ledger(1u << 26);
    Kept kept(all_columns(), 300, 50, &ledger, 2);
    std::mt19937_64 random(3);
    size_t some = 0;
    for (int round = 0; round < 400; round++) {
        kept.scan.conditions.clear();
        for (uint64_t i = 0; i <= random() % 3; i++) {
            const auto column = static_cast<uint16_t>(random() % 8);
            const KeptValue& value = kept.rows[random() % kept.rows.size()][column];
            const int64_t low = value ? integer_of(*value, kept.columns[column].spec) : INT64_MIN;
            const uint64_t spans[] = {0, 1, 100, 40000, uint64_t{1} << 40, UINT64_MAX, INT64_MAX};
            kept.scan.conditions.push_back(
                {low, spans[random() % 7], column, static_cast<uint8_t>(random() % 2), {}});
        }
        expect_same(kept, 8, &ledger);
        some += !kept.expected(1).empty();
    }
    EXPECT_GT(some, 100u);
}

TEST(KeptScan, WidensIntegers) {
    Ledger ledger(1u << 26);
    Kept kept(
        {kept_column(ColumnType::Fixed1), kept_column(ColumnType::Fixed2), kept_column(ColumnType::Fixed4)},
        40, 50, &ledger, 4);
    for (ColumnType type : {ColumnType::Fixed4, ColumnType::Fixed8}) {
        std::vector<ColumnSpec> source = kept.source(3);
        for (ColumnSpec& spec : source) spec.type = type;
        ASSERT_TRUE(validate_kept_scan(kept.scan, source).ok());
        Status status;
        const std::vector<KeptRow> rows = scan_rows(kept.scan, source, &ledger, &status);
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
    kept.scan.conditions.push_back({-100, 200, 0, 1, {}});
    expect_same(kept, 2, &ledger);
}

TEST(KeptScan, LongValuesMakeShortBatches) {
    Ledger ledger(1u << 28);
    Kept kept({kept_column(ColumnType::Bytes, ValueOrder::Bytes)}, 200, 30, &ledger, 6, 20000);
    Ledger joins(1u << 24);
    const std::vector<ColumnSpec> source = kept.source(1);
    Status status;
    uint64_t most = 0;
    EXPECT_EQ(scan_rows(kept.scan, source, &joins, &status, &most), kept.expected(1));
    EXPECT_TRUE(status.ok());
    EXPECT_LE(most, 1024u);
    EXPECT_EQ(joins.used(), 0u);
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
        const std::vector<KeptRow> rows = scan_rows(kept.scan, source, &joins, &status);
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
    for (uint32_t column : {8u, 9u, 10u, 65535u}) {
        kept.scan.conditions = {{0, 1, static_cast<uint16_t>(column), 0, {}}};
        EXPECT_STREQ(refusal_of(kept, {}), "08P01") << column;
    }
    kept.scan.conditions = {{0, 1, 7, 0, {}}};
    EXPECT_STREQ(refusal_of(kept, {}), "00000");
}

}  // namespace gpujoin::test
