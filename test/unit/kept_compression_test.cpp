// Compression of kept columns: which is chosen at the ends of each range, that values come back as they were,
// and that there is less memory to it than before.
#include <gtest/gtest.h>

#include <algorithm>

#include "kept_rows.h"

namespace gpujoin::test {

namespace {

// A sealed chunk of one column.
std::unique_ptr<KeptChunk> keep(const ChunkColumn& column, const std::vector<KeptRow>& rows, Ledger* ledger) {
    auto chunk = std::make_unique<KeptChunk>(std::span(&column, 1), ledger);
    constexpr size_t kBlockRows = 20000;
    for (size_t first = 0; first < rows.size(); first += kBlockRows) {
        const size_t count = std::min(kBlockRows, rows.size() - first);
        const std::vector<uint16_t> counts{static_cast<uint16_t>(count)};
        EXPECT_TRUE(chunk
                        ->append(KeptBatch({&column, 1}, {rows.data() + first, count}).view(),
                                 static_cast<uint32_t>(first / kBlockRows), counts)
                        .ok());
    }
    chunk->seal();
    return chunk;
}

struct Compressed {
    KeptCompression compression;
    uint32_t code_bytes;  // of a row
    bool operator==(const Compressed&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Compressed& compressed) {
    return out << static_cast<int>(compressed.compression) << " of " << compressed.code_bytes;
}

// How a column is compressed, once its values have come back.
Compressed compress_column(const ChunkColumn& column, const std::vector<KeptRow>& rows) {
    Ledger ledger(uint64_t{1} << 30);
    const auto chunk = keep(column, rows, &ledger);
    EXPECT_EQ(rows_of_chunk(*chunk), rows);
    EXPECT_EQ(chunk->bytes(), ledger.used());
    const KeptValues& values = chunk->columns()[0];
    return {values.compression, static_cast<uint32_t>(values.values.bytes() / rows.size())};
}

template <typename Integer>
Compressed compress_integers(ColumnType type, ValueOrder order, const std::vector<int64_t>& values,
                             bool nulls) {
    std::vector<KeptRow> rows;
    for (const int64_t value : values) rows.push_back({kept_integer(static_cast<Integer>(value))});
    if (nulls) rows.push_back({KeptValue()});
    return compress_column(kept_column(type, order), rows);
}

constexpr Compressed offsets(uint32_t code_bytes) {
    return {KeptCompression::FrameOfReference, code_bytes};
}
constexpr Compressed plain(uint32_t code_bytes) {
    return {KeptCompression::Plain, code_bytes};
}

// So many texts, each different from the others, and each so many times.
std::vector<KeptRow> texts(size_t count, size_t times, size_t bytes = 8) {
    std::vector<KeptRow> rows;
    for (size_t time = 0; time < times; time++)
        for (size_t i = 0; i < count; i++) {
            std::string text = std::to_string(i);
            rows.push_back({text + std::string(bytes - text.size(), '.')});
        }
    return rows;
}

const ChunkColumn kTextColumn = kept_column(ColumnType::Bytes, ValueOrder::Bytes);

}  // namespace

TEST(KeptCompression, IntegersTakeAsManyBytesAsTheirDistances) {
    for (const bool nulls : {false, true})
        for (const int64_t least : {int64_t{0}, int64_t{-1}, int64_t{-100000}, INT64_MIN, INT64_MIN / 2}) {
            auto compress = [&](uint64_t greatest) {
                const auto last = static_cast<int64_t>(static_cast<uint64_t>(least) + greatest);
                return compress_integers<int64_t>(ColumnType::Fixed8, ValueOrder::Signed, {last, least, last},
                                                  nulls);
            };
            EXPECT_EQ(compress(0), offsets(0));
            EXPECT_EQ(compress(1), offsets(1));
            EXPECT_EQ(compress(255), offsets(1));
            EXPECT_EQ(compress(256), offsets(2));
            EXPECT_EQ(compress(65535), offsets(2));
            EXPECT_EQ(compress(65536), offsets(4));
            EXPECT_EQ(compress(UINT32_MAX), offsets(4));
            EXPECT_EQ(compress(uint64_t{1} << 32), plain(8));
            EXPECT_EQ(compress(INT64_MAX), plain(8));
        }
    EXPECT_EQ(
        compress_integers<int64_t>(ColumnType::Fixed8, ValueOrder::Signed, {INT64_MIN, INT64_MAX, 0}, false),
        plain(8));
}

TEST(KeptCompression, IntegersAreNeverWiderThanTheirType) {
    using enum ValueOrder;
    for (const bool nulls : {false, true}) {
        EXPECT_EQ(compress_integers<int8_t>(ColumnType::Fixed1, Signed, {-128, 127}, nulls), plain(1));
        EXPECT_EQ(compress_integers<int8_t>(ColumnType::Fixed1, Signed, {-128, -128}, nulls), offsets(0));
        EXPECT_EQ(compress_integers<int16_t>(ColumnType::Fixed2, Signed, {-32768, -32513}, nulls),
                  offsets(1));
        EXPECT_EQ(compress_integers<int16_t>(ColumnType::Fixed2, Signed, {-128, 128}, nulls), plain(2));
        EXPECT_EQ(
            compress_integers<int32_t>(ColumnType::Fixed4, Signed, {INT32_MIN, INT32_MIN + 65535}, nulls),
            offsets(2));
        EXPECT_EQ(compress_integers<int32_t>(ColumnType::Fixed4, Signed, {INT32_MIN, INT32_MAX}, nulls),
                  plain(4));
        EXPECT_EQ(compress_integers<uint32_t>(ColumnType::Fixed4, Unsigned, {INT32_MAX, INT64_C(0x80000010)},
                                              nulls),
                  offsets(1));
        EXPECT_EQ(compress_integers<uint64_t>(ColumnType::Fixed8, Unsigned, {-1, -2}, nulls), offsets(1));
        EXPECT_EQ(compress_integers<uint64_t>(ColumnType::Fixed8, Unsigned, {INT64_MAX, INT64_MIN}, nulls),
                  plain(8));
    }
}

TEST(KeptCompression, ColumnsOfNullsAloneHaveNoValues) {
    const std::vector<KeptRow> rows(100, KeptRow(1));
    for (const ColumnType type :
         {ColumnType::Fixed1, ColumnType::Fixed2, ColumnType::Fixed4, ColumnType::Fixed8})
        EXPECT_EQ(compress_column(kept_column(type), rows), offsets(0));
    EXPECT_EQ(compress_column(kTextColumn, rows), (Compressed{KeptCompression::Dictionary, 0}));
}

TEST(KeptCompression, FloatsAndWideValuesStayAsTheyAre) {
    const std::vector<KeptRow> rows(100, KeptRow{std::string(16, 'x')});
    EXPECT_EQ(compress_column(kept_column(ColumnType::Fixed16, ValueOrder::Bytes), rows), plain(16));
    const std::vector<KeptRow> floats(100, KeptRow{kept_integer(1.5)});
    EXPECT_EQ(compress_column(kept_column(ColumnType::Fixed8, ValueOrder::Float), floats), plain(8));
}

TEST(KeptCompression, TextsThatComeAgainHaveADictionary) {
    auto coded = [](uint32_t bytes) { return Compressed{KeptCompression::Dictionary, bytes}; };
    EXPECT_EQ(compress_column(kTextColumn, texts(1, 100)), coded(0));
    EXPECT_EQ(compress_column(kTextColumn, texts(2, 100)), coded(1));
    EXPECT_EQ(compress_column(kTextColumn, texts(256, 10)), coded(1));
    EXPECT_EQ(compress_column(kTextColumn, texts(257, 10)), coded(2));
    std::vector<KeptRow> some = texts(10, 100);
    for (size_t i = 0; i < some.size(); i += 7) some[i][0] = i % 2 == 0 ? KeptValue() : KeptValue("");
    EXPECT_EQ(compress_column(kTextColumn, some), coded(1));
}

// Of as many different ones as codes can tell, and of one more.
TEST(KeptCompression, DictionariesHaveAsManyTextsAsCodesTell) {
    std::vector<KeptRow> many = texts(65536, 3);
    std::rotate(many.begin(), many.begin() + 65536 - 1000, many.end());
    for (size_t i = 0; i < 20000; i++) many.insert(many.begin(), many[i % 1000]);  // few at first
    EXPECT_EQ(compress_column(kTextColumn, many), (Compressed{KeptCompression::Dictionary, 2}));
    many.push_back({"another"});
    EXPECT_EQ(compress_column(kTextColumn, many), plain(0));
}

TEST(KeptCompression, DifferentTextsHaveNone) {
    EXPECT_EQ(compress_column(kTextColumn, texts(100, 1)), plain(0));
    EXPECT_EQ(compress_column(kTextColumn, texts(30000, 1)), plain(0));
}

TEST(KeptCompression, WithoutRoomForADictionaryTextsStayAsTheyAre) {
    const std::vector<KeptRow> rows = texts(100, 200, 30);
    bool was_plain = false, was_coded = false;
    for (uint64_t room = 600000; room < 1400000; room += 4096) {
        Ledger ledger(room);
        {
            KeptChunk chunk({&kTextColumn, 1}, &ledger);
            const std::vector<uint16_t> counts{static_cast<uint16_t>(rows.size())};
            if (!chunk.append(KeptBatch({&kTextColumn, 1}, rows).view(), 0, counts).ok()) continue;
            chunk.seal();
            EXPECT_EQ(rows_of_chunk(chunk), rows);
            (chunk.columns()[0].compression == KeptCompression::Plain ? was_plain : was_coded) = true;
        }
        EXPECT_EQ(ledger.used(), 0u);
    }
    EXPECT_TRUE(was_plain && was_coded);
}

}  // namespace gpujoin::test
