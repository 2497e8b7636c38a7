// Random rows in kept chunks, and which of them a scan should give.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <string_view>

#include "kept_conditions.h"
#include "kept_rows.h"

namespace gpujoin::test {

inline constexpr ColumnType kWidths[] = {ColumnType::Fixed1, ColumnType::Fixed2, ColumnType::Fixed4,
                                         ColumnType::Fixed8};

// Signed and unsigned integers of all widths, 16 bytes, strings, and floats.
inline std::vector<ChunkColumn> all_columns() {
    std::vector<ChunkColumn> columns;
    for (ValueOrder order : {ValueOrder::Signed, ValueOrder::Unsigned})
        for (ColumnType type : kWidths) columns.push_back(kept_column(type, order));
    columns.push_back(kept_column(ColumnType::Fixed16, ValueOrder::Bytes));
    columns.push_back(kept_column(ColumnType::Bytes, ValueOrder::Bytes));
    for (ColumnType type : {ColumnType::Fixed4, ColumnType::Fixed8})
        columns.push_back(kept_column(type, ValueOrder::Float));
    return columns;
}

// Whose values, in ascending order, tell stretches of rows apart, and one whose values do not.
inline std::vector<ChunkColumn> bounded_columns() {
    return {kept_column(ColumnType::Fixed4), kept_column(ColumnType::Fixed8),
            kept_column(ColumnType::Fixed8, ValueOrder::Float),
            kept_column(ColumnType::Bytes, ValueOrder::Bytes)};
}

// Of the same order as a float.
inline int64_t integer_of_float(double number) {
    if (std::isnan(number)) return INT64_MAX;
    if (number == 0) return 0;
    const auto bits = std::bit_cast<int64_t>(std::fabs(number));
    return number < 0 ? -bits - 1 : bits;
}

inline int64_t integer_of(const std::string& bytes, const ColumnSpec& spec) {
    if (spec.order == ValueOrder::Float) {
        float single;
        double number;
        if (bytes.size() == sizeof number) memcpy(&number, bytes.data(), sizeof number);
        if (bytes.size() == sizeof number) return integer_of_float(number);
        memcpy(&single, bytes.data(), sizeof single);
        return integer_of_float(single);
    }
    uint64_t value = 0;
    memcpy(&value, bytes.data(), bytes.size());
    const int unused = 64 - 8 * static_cast<int>(bytes.size());
    return spec.order == ValueOrder::Signed ? static_cast<int64_t>(value << unused) >> unused
                                            : static_cast<int64_t>(value);
}

// Chunks of random rows, one behind the other, and these.
struct Kept {
    static constexpr uint32_t kChunks = 3;

    struct Place {
        uint32_t chunk, block;
    };
    std::vector<ChunkColumn> columns;
    std::vector<KeptRow> rows;
    std::vector<Place> places;  // of the rows
    std::vector<std::shared_ptr<KeptChunk>> chunks;
    std::vector<ChunkMap> maps;  // of the blocks that are wanted, by chunk
    std::vector<KeptCondition> conditions;

    enum class Order { Random, Ascending, Narrow };

    // Ascending: values of 4 and 8 bytes are about the number of the row; there are NULLs in some stretches.
    // Narrow: a column has few values in a chunk, or such that lie close together, and NULLs in all rows of
    // some chunks and in none of others.
    Kept(std::vector<ChunkColumn> of, uint32_t block_count, uint32_t block_rows, Ledger* ledger,
         uint32_t seed, size_t text_bytes = 12, Order order = Order::Random)
        : columns(std::move(of)), maps(kChunks) {
        std::mt19937_64 random(seed);
        for (uint32_t i = 0; i < kChunks; i++) {
            chunks.push_back(std::make_shared<KeptChunk>(columns, ledger));
            const uint32_t end = (i + 1) * block_count / kChunks;
            for (uint32_t block = i * block_count / kChunks; block < end; block++) {
                std::vector<KeptRow> some(random() % (block_rows + 1));
                for (KeptRow& row : some)
                    if (order == Order::Narrow)
                        make_narrow_row(row, i, random);
                    else
                        make_row(row, random, text_bytes);
                if (order == Order::Ascending) number(some, random);
                add_block({i, 2 * block}, some);
            }
            chunks.back()->seal();
        }
    }

    KeptScan scan() const {
        KeptScan made;
        made.conditions = conditions;
        for (uint32_t i = 0; i < kChunks; i++) {
            KeptView view{{chunks[i]}, {}};
            for (const KeptValues& values : chunks[i]->columns()) view.columns.push_back(&values);
            made.add(std::move(view), maps[i], static_cast<uint32_t>(i));
        }
        return made;
    }

    std::vector<ColumnSpec> source(size_t count) const {
        std::vector<ColumnSpec> specs;
        for (size_t i = 0; i < count; i++) specs.push_back(columns[i].spec);
        return specs;
    }

    // On the columns of integers, strings or floats.
    KeptCondition random_condition(std::mt19937_64& random) const {
        auto column = static_cast<uint16_t>(random() % columns.size());
        while (columns[column].spec.type == ColumnType::Fixed16)
            column = static_cast<uint16_t>(random() % columns.size());
        const KeptValue& value = rows[random() % rows.size()][column];
        KeptCondition made = {};
        made.column = column;
        made.null_passes = random() % 4 == 0;
        if (columns[column].spec.type == ColumnType::Bytes) {
            const std::string bytes = value.value_or("").substr(0, kMaxKeptBytes);
            made.test = random() % 2 == 0 ? KeptTest::Same : KeptTest::Other;
            made.length = static_cast<uint8_t>(bytes.size());
            memcpy(made.bytes, bytes.data(), bytes.size());
            return made;
        }
        const uint64_t spans[] = {0, 1, 100, 40000, uint64_t{1} << 40, UINT64_MAX, INT64_MAX};
        made.interval = {value ? integer_of(*value, columns[column].spec) : INT64_MIN, spans[random() % 7]};
        made.test = random() % 2 == 0 ? KeptTest::Inside : KeptTest::Outside;
        return made;
    }
    // Some connected by AND, and behind them some that lead to any later one.
    void choose_conditions(std::mt19937_64& random) {
        conditions.clear();
        for (uint64_t left = random() % 3; left > 0; left--)
            add_condition(conditions, random_condition(random));
        const size_t first = conditions.size();
        for (uint64_t left = random() % 5; left > 0; left--) conditions.push_back(random_condition(random));
        if (first > 0 && conditions.size() > first)
            conditions[first - 1].if_passed = static_cast<uint8_t>(first);
        for (size_t i = first; i < conditions.size(); i++) {
            conditions[i].if_passed = random_end(i, random);
            conditions[i].if_failed = random_end(i, random);
        }
    }

    // What the scan should give of the first columns.
    std::vector<KeptRow> expected(size_t count) const {
        std::vector<KeptRow> passed;
        for (size_t i = 0; i < rows.size(); i++)
            if (maps[places[i].chunk].has(places[i].block) && passes(rows[i]))
                passed.emplace_back(rows[i].begin(), rows[i].begin() + static_cast<int>(count));
        return passed;
    }

  private:
    void add_block(Place place, const std::vector<KeptRow>& some) {
        const std::vector<uint16_t> counts{static_cast<uint16_t>(some.size())};
        EXPECT_TRUE(chunks[place.chunk]->append(KeptBatch(columns, some).view(), place.block, counts).ok());
        rows.insert(rows.end(), some.begin(), some.end());
        places.insert(places.end(), some.size(), place);
        maps[place.chunk].add(place.block);
    }
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
    void make_narrow_row(KeptRow& row, uint32_t chunk, std::mt19937_64& random) const {
        constexpr uint64_t kRanges[] = {1, 200, 60000, 3000000000};
        constexpr uint64_t kTexts[] = {1, 3, 256, 300};
        for (size_t at = 0; at < columns.size(); at++) {
            const size_t kind = at + chunk;
            const bool is_null = kind % 5 == 1 || (kind % 5 > 1 && random() % 10 == 0);
            const uint64_t least = std::mt19937_64(kind)();
            const uint64_t value = least + random() % kRanges[kind % 4];
            const uint64_t text = random() % kTexts[kind % 4];
            const std::string bytes =
                columns[at].spec.type == ColumnType::Bytes
                    ? std::to_string(text) + std::string(text % 9, '-')
                    : std::string(reinterpret_cast<const char*>(&value), sizeof value) +
                          std::string(reinterpret_cast<const char*>(&text), sizeof text);
            const uint32_t width = fixed_width(columns[at].spec.type);
            row.push_back(is_null ? KeptValue() : KeptValue(width ? bytes.substr(0, width) : bytes));
        }
    }
    template <typename Number>
    static KeptValue value_of(size_t number) {
        return kept_integer(static_cast<Number>(number));
    }
    void number(std::vector<KeptRow>& some, std::mt19937_64& random) const {
        constexpr size_t kNullRows = 20000;
        for (size_t i = 0; i < some.size(); i++) {
            const size_t row = rows.size() + i;
            const size_t about = row + random() % 100;
            for (size_t at = 0; at < columns.size(); at++) {
                const ColumnSpec& spec = columns[at].spec;
                const bool is_float = spec.order == ValueOrder::Float;
                if (spec.type == ColumnType::Fixed4)
                    some[i][at] = is_float ? value_of<float>(about) : value_of<int32_t>(about);
                else if (spec.type == ColumnType::Fixed8)
                    some[i][at] = is_float ? value_of<double>(about) : value_of<int64_t>(about);
                if ((row / kNullRows + at) % 3 == 0 && random() % 10 == 0) some[i][at].reset();
            }
        }
    }
    uint8_t random_end(size_t number, std::mt19937_64& random) const {
        const size_t later = number + 1 + random() % 3;
        if (later < conditions.size()) return static_cast<uint8_t>(later);
        return random() % 2 == 0 ? kRowIsWanted : kRowIsUnwanted;
    }
    bool meets(const KeptRow& row, const KeptCondition& condition) const {
        const KeptValue& value = row[condition.column];
        if (!value) return condition.null_passes != 0;
        const std::string_view bytes(condition.bytes, condition.length);
        if (condition.test == KeptTest::Same) return *value == bytes;
        if (condition.test == KeptTest::Other) return *value != bytes;
        const uint64_t distance = static_cast<uint64_t>(integer_of(*value, columns[condition.column].spec)) -
                                  static_cast<uint64_t>(condition.interval.low);
        return (distance <= condition.interval.span) == (condition.test == KeptTest::Inside);
    }
    bool passes(const KeptRow& row) const {
        size_t next = conditions.empty() ? kRowIsWanted : 0;
        while (next < kRowIsWanted)
            next = meets(row, conditions[next]) ? conditions[next].if_passed : conditions[next].if_failed;
        return next == kRowIsWanted;
    }
};

// So that some blocks of the second chunk are not wanted.
inline void leave_blocks_out(Kept& kept) {
    for (uint32_t block = 0; block < kChunkBlocks; block++)
        if (block % 7 < 3) kept.maps[1].bits[block / 8] &= static_cast<uint8_t>(~(1u << block % 8));
}

}  // namespace gpujoin::test
