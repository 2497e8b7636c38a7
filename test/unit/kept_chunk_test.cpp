// KeptChunk: batches of any size, NULLs that begin late, blocks left out, and ledgers that refuse.
#include <gtest/gtest.h>

#include <numeric>

#include "kept_chunks.h"
#include "kept_rows.h"

namespace gpujoin::test {

namespace {

const std::vector<ChunkColumn> kColumns = {kept_column(ColumnType::Fixed4),
                                           kept_column(ColumnType::Bytes, ValueOrder::Bytes, 2)};

KeptRow row(int32_t number, const char* text) {
    return {kept_integer(number), text ? KeptValue(text) : KeptValue()};
}

Status append(KeptChunk& chunk, uint32_t first_block, const std::vector<uint16_t>& block_rows,
              const std::vector<KeptRow>& rows) {
    return chunk.append(KeptBatch(kColumns, rows).view(), first_block, block_rows);
}

}  // namespace

TEST(KeptChunk, HasTheRowsOfItsBlocks) {
    Ledger ledger(1u << 20);
    KeptChunk chunk(kColumns, &ledger);
    EXPECT_TRUE(append(chunk, 3, {}, {}).ok());
    EXPECT_TRUE(append(chunk, 3, {0, 1}, {row(1, "one")}).ok());
    EXPECT_TRUE(append(chunk, 10, {2, 0, 1}, {row(2, ""), row(3, "three"), row(4, nullptr)}).ok());
    EXPECT_TRUE(append(chunk, kChunkBlocks - 1, {1}, {row(5, "five")}).ok());
    chunk.seal();
    EXPECT_EQ(chunk.rows(), 5u);
    const std::pair<uint32_t, uint64_t> first_rows[] = {
        {0, 0},           {3, 0}, {4, 0}, {5, 1}, {10, 1}, {11, 3}, {12, 3}, {13, 4}, {kChunkBlocks - 1, 4},
        {kChunkBlocks, 5}};
    for (auto [block, first] : first_rows) EXPECT_EQ(chunk.first_row(block), first) << block;
    const std::vector<KeptRow> expected{row(1, "one"), row(2, ""), row(3, "three"), row(4, nullptr),
                                        row(5, "five")};
    EXPECT_EQ(rows_of_chunk(chunk), expected);
    EXPECT_EQ(chunk.columns()[0].validity_bits(), nullptr);
    EXPECT_EQ(chunk.columns()[1].validity_bits()[0] & 31, 0b10111);
    EXPECT_GE(ledger.used(), chunk.bytes());
}

TEST(KeptChunk, NullsMayBeginAndEndInAnyBatch) {
    Ledger ledger(1u << 24);
    for (uint32_t first_null : {0u, 1u, 7u, 8u, 9u, 100u}) {
        KeptChunk chunk(kColumns, &ledger);
        uint32_t next = 0;
        std::vector<KeptRow> all;
        for (uint32_t batch = 0; batch < 40; batch++) {
            std::vector<KeptRow> rows;
            for (uint32_t i = 0; i < batch % 13; i++, next++)
                rows.push_back(next >= first_null && next < 200 && next % 3 == 0
                                   ? KeptRow(2)
                                   : row(static_cast<int32_t>(next), "x"));
            ASSERT_TRUE(append(chunk, batch, {static_cast<uint16_t>(rows.size())}, rows).ok());
            all.insert(all.end(), rows.begin(), rows.end());
        }
        chunk.seal();
        for (const KeptValues& values : chunk.columns())
            for (uint32_t i = 0; i < next; i++)
                ASSERT_EQ(values.validity_bits()[i / 8] >> i % 8 & 1,
                          !(i >= first_null && i < 200 && i % 3 == 0))
                    << i;
        ASSERT_EQ(rows_of_chunk(chunk), all);
    }
    EXPECT_EQ(ledger.used(), 0u);
}

TEST(KeptChunk, WhatDoesNotAddUpIsRefused) {
    Ledger ledger(1u << 24);
    auto is_refused = [&](uint32_t first_block, const std::vector<uint16_t>& block_rows,
                          const std::vector<KeptRow>& rows) {
        KeptChunk chunk(kColumns, &ledger);
        EXPECT_TRUE(append(chunk, 5, {1}, {row(1, "one")}).ok());
        return std::string(append(chunk, first_block, block_rows, rows).sqlstate) == "08P01";
    };
    EXPECT_FALSE(is_refused(6, {1}, {row(2, "two")}));
    EXPECT_TRUE(is_refused(5, {1}, {row(2, "two")}));
    EXPECT_TRUE(is_refused(0, {}, {}));
    EXPECT_TRUE(is_refused(6, {2}, {row(2, "two")}));
    EXPECT_TRUE(is_refused(6, {}, {row(2, "two")}));
    EXPECT_TRUE(is_refused(kChunkBlocks, {0}, {}));
    EXPECT_TRUE(is_refused(kChunkBlocks - 1, {0, 0}, {}));
    EXPECT_TRUE(is_refused(UINT32_MAX, {0}, {}));
    EXPECT_FALSE(is_refused(kChunkBlocks, {}, {}));
    KeptChunk chunk({kColumns.data(), 1}, &ledger);
    EXPECT_STREQ(append(chunk, 0, {1}, {row(1, "one")}).sqlstate, "08P01");
}

TEST(KeptChunk, RefusalsLeaveNothing) {
    std::vector<KeptRow> rows(1000, row(7, "seven"));
    rows[500] = KeptRow(2);
    int refused = 0, taken = 0;
    for (uint64_t room = 0; room < 120000; room += 1777) {
        Ledger ledger(KeptChunk::kFixedBytes - 1777 + room);
        {
            KeptChunk chunk(kColumns, &ledger);
            EXPECT_EQ(chunk.has_failed(), room < 1777);
            Status status;
            for (uint32_t block = 0; block < 3 && status.ok(); block++)
                status = append(chunk, block, {1000}, rows);
            (status.ok() ? taken : refused)++;
            EXPECT_STREQ(status.sqlstate, status.ok() ? "00000" : "53200");
            EXPECT_LE(ledger.used(), ledger.limit());
            chunk.seal();
        }
        EXPECT_EQ(ledger.used(), 0u);
    }
    EXPECT_GT(refused, 5);
    EXPECT_GT(taken, 5);
}

namespace {

constexpr uint32_t kManyBatches = 100;
constexpr uint32_t kManyRows = 9000;  // 3.6 MB in all: two huge pages

// Numbers from 0 on; the bytes that these take in the end.
uint64_t keep_many(Ledger* ledger, uint64_t expected) {
    KeptChunk chunk({kColumns.data(), 1}, ledger);
    chunk.expect(expected);
    std::vector<int32_t> numbers(kManyRows);
    for (uint32_t batch = 0; batch < kManyBatches; batch++) {
        std::iota(numbers.begin(), numbers.end(), static_cast<int32_t>(batch * kManyRows));
        ColumnView column = {};
        column.values = reinterpret_cast<const std::byte*>(numbers.data());
        BatchView view = {};
        view.rows = kManyRows;
        view.columns = {&column, 1};
        const std::vector<uint16_t> block_rows = {kManyRows};
        EXPECT_TRUE(chunk.append(view, batch, block_rows).ok());
    }
    chunk.seal();
    const auto* kept = chunk.columns()[0].values.as<int32_t>();
    for (uint32_t i = 0; i < kManyBatches * kManyRows; i++)
        if (kept[i] != static_cast<int32_t>(i)) ADD_FAILURE() << "row " << i << " is " << kept[i];
    EXPECT_EQ(chunk.bytes(), ledger->used());
    EXPECT_LE(ledger->used(), ledger->limit());
    return chunk.bytes() - KeptChunk::kFixedBytes - chunk.columns()[0].bounds.charged();
}

// Bounds may be those of the stretches that the rows were in, two of which may be in one now.
void expect_bounds_around(const KeptValues& cut, const KeptValues& made, uint64_t rows) {
    for (uint64_t stretch = 0; stretch * kStretchRows < rows; stretch++) {
        if (!cut.bounds_of(stretch)) continue;
        const ValueBounds& tight = *made.bounds_of(stretch);
        ValueBounds sum = *cut.bounds_of(stretch);
        sum.extend(tight);
        EXPECT_EQ(sum.least, cut.bounds_of(stretch)->least);
        EXPECT_EQ(sum.greatest, cut.bounds_of(stretch)->greatest);
        EXPECT_EQ(sum.has_nulls, cut.bounds_of(stretch)->has_nulls);
    }
}

}  // namespace

// Of texts, NULLs and numbers, whose bounds are around those of the rows that are left.
TEST(KeptChunk, IsCutToTheBlocksOfAnother) {
    Ledger ledger(1u << 28);
    for (uint32_t seed = 0; seed < 8; seed++) {
        const bool is_narrow = seed % 2 == 1;
        Kept kept(is_narrow ? all_columns() : bounded_columns(), 2600, 60, &ledger, seed, 12,
                  is_narrow ? Kept::Order::Narrow : Kept::Order::Ascending);
        const KeptChunk& whole = *kept.chunks[1];
        KeptChunk fewer(kept.columns, &ledger);
        std::vector<KeptRow> expected;
        for (size_t row = 0, end; row < kept.rows.size(); row = end) {
            const Kept::Place place = kept.places[row];
            for (end = row; end < kept.rows.size() && kept.places[end].block == place.block &&
                            kept.places[end].chunk == place.chunk;)
                end++;
            if (place.chunk != 1 || place.block % 7 == seed % 7) continue;
            const std::vector<KeptRow> some(kept.rows.begin() + static_cast<ptrdiff_t>(row),
                                            kept.rows.begin() + static_cast<ptrdiff_t>(end));
            const std::vector<uint16_t> counts{static_cast<uint16_t>(some.size())};
            ASSERT_TRUE(fewer.append(KeptBatch(kept.columns, some).view(), place.block, counts).ok());
            expected.insert(expected.end(), some.begin(), some.end());
        }
        fewer.seal();
        const auto cut = whole.cut_to(fewer);
        ASSERT_TRUE(cut && cut->has_rows_of(fewer) && cut->rows() < whole.rows());
        KeptScan scan;
        KeptView view{{cut}, {}};
        for (const KeptValues& values : cut->columns()) view.columns.push_back(&values);
        scan.add(std::move(view), kept.maps[1], 1);
        Status status;
        const std::vector<ColumnSpec> source = kept.source(kept.columns.size());
        EXPECT_EQ(scan_rows(scan, source, &ledger, &status), expected);
        EXPECT_TRUE(status.ok());
        for (size_t i = 0; i < kept.columns.size(); i++)
            expect_bounds_around(cut->columns()[i], fewer.columns()[i], cut->rows());
        for (uint64_t stretch = 0; !is_narrow && stretch * kStretchRows < cut->rows(); stretch++) {
            const ValueBounds& tight = *fewer.columns()[0].bounds_of(stretch);
            const ValueBounds& wide = *cut->columns()[0].bounds_of(stretch);
            EXPECT_LT(tight.least - wide.least, static_cast<int64_t>(kStretchRows));
            EXPECT_LT(wide.greatest - tight.greatest, static_cast<int64_t>(kStretchRows));
        }
        EXPECT_EQ(fewer.cut_to(whole), nullptr) << "it has no rows of some blocks";
    }
    EXPECT_EQ(ledger.used(), 0u);
}

TEST(KeptChunk, LargeOnesLieInHugePages) {
    constexpr uint64_t kHuge = 2u << 20;
    constexpr uint64_t kRows = uint64_t{kManyBatches} * kManyRows;
    for (uint64_t expected : {kRows, kRows + kRows / 2}) {
        Ledger ledger(1u << 24);
        EXPECT_EQ(keep_many(&ledger, expected), 2 * kHuge) << expected;
        EXPECT_EQ(ledger.used(), 0u);
    }
    for (uint64_t expected : {uint64_t{0}, uint64_t{100}, kRows / 2, kRows - 1}) {
        Ledger ledger(1u << 24);
        EXPECT_LE(keep_many(&ledger, expected), 2 * kHuge) << expected;
        EXPECT_EQ(ledger.used(), 0u);
    }
}

TEST(KeptChunk, WithoutRoomForHugePagesSmallOnesDo) {
    constexpr uint64_t kBytes = uint64_t{kManyBatches} * kManyRows * sizeof(int32_t);
    constexpr uint64_t kBoundsBytes = 4096;
    Ledger ledger(KeptChunk::kFixedBytes + kBoundsBytes + kBytes + 4096);
    EXPECT_LE(keep_many(&ledger, kBytes / sizeof(int32_t)), kBytes + 4096);
    EXPECT_EQ(ledger.used(), 0u);
}

}  // namespace gpujoin::test
