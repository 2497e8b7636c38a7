// The pieces that both engines share, on the host: keys, hashes, order keys, searches, the layout of results.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/compare.h"
#include "engine/hash.h"
#include "engine/key_layout.h"
#include "engine/result_layout.h"
#include "engine/row_numbers.h"
#include "engine/search.h"
#include "engine_collisions.h"

namespace gpujoin {
namespace {

JoinSpec spec_of(std::vector<ColumnType> types) {
    JoinSpec spec{};
    for (ColumnType type : types) {
        uint16_t i = spec.equalities++;
        spec.probe[i] = spec.build[i] = {type, ValueOrder::Unsigned, 0, 0};
        spec.equality[i] = {i, i, Comparison::Equal, {}};
    }
    spec.probe_columns = spec.build_columns = spec.equalities;
    return spec;
}

TEST(KeyLayout, PacksWhatFits) {
    using enum ColumnType;
    EXPECT_EQ(make_key_layout(spec_of({Fixed1})).bytes, 4u);
    EXPECT_EQ(make_key_layout(spec_of({Fixed2, Fixed2})).bytes, 4u);
    EXPECT_EQ(make_key_layout(spec_of({Fixed4, Fixed1})).bytes, 8u);
    EXPECT_EQ(make_key_layout(spec_of({Fixed8, Fixed8})).bytes, 16u);
    EXPECT_EQ(make_key_layout(spec_of({Fixed16})).bytes, 16u);
    EXPECT_EQ(make_key_layout(spec_of({Fixed16, Fixed1})).bytes, 0u);
    EXPECT_EQ(make_key_layout(spec_of({Fixed4, Bytes})).bytes, 0u);
    EXPECT_EQ(make_key_layout(spec_of({})).bytes, 0u);
    EXPECT_EQ(make_key_layout(spec_of({Fixed1, Fixed8, Fixed4})).part[2].offset, 9u);
}

// A value that lies across the middle of a 16-byte key is split, and every bit of it counts.
TEST(KeyLayout, EveryBitOfAPackedKeyCounts) {
    using enum ColumnType;
    KeyLayout layout = make_key_layout(spec_of({Fixed1, Fixed4, Fixed8, Fixed2}));
    ASSERT_EQ(layout.bytes, 16u);
    std::set<std::pair<uint64_t, uint64_t>> keys;
    uint32_t bits = 0;
    for (uint32_t part = 0; part < layout.parts; part++) {
        for (uint32_t bit = 0; bit < 8u * layout.part[part].width; bit++, bits++) {
            alignas(16) std::byte values[4][16] = {};
            values[part][bit / 8] = std::byte(1 << bit % 8);
            Key16 key = pack_key<Key16>(layout, [&](uint32_t i) { return values[i]; });
            EXPECT_EQ(std::popcount(key.low) + std::popcount(key.high), 1);
            keys.emplace(key.low, key.high);
        }
    }
    EXPECT_EQ(keys.size(), bits);
}

TEST(Hash, SpreadsOverBothEnds) {
    std::vector<uint32_t> high(256), low(256);
    for (uint32_t i = 0; i < 256 * 256; i++) {
        high[hash_key(i) >> 56]++;
        low[hash_key(uint64_t{i} << 32) & 255]++;
    }
    for (uint32_t i = 0; i < 256; i++) {
        EXPECT_NEAR(high[i], 256, 100);
        EXPECT_NEAR(low[i], 256, 100);
    }
}

TEST(Hash, BytesDependOnLengthAndEveryByte) {
    std::set<uint64_t> hashes;
    std::string zeros(40, '\0');
    for (uint32_t length = 0; length <= 40; length++) {
        hashes.insert(hash_bytes(reinterpret_cast<const std::byte*>(zeros.data()), length));
        std::string one(length, '\0');
        for (uint32_t i = 0; i < length; i++) {
            one[i] = 1;
            hashes.insert(hash_bytes(reinterpret_cast<const std::byte*>(one.data()), length));
            one[i] = 0;
        }
    }
    EXPECT_EQ(hashes.size(), 41u + 40u * 41u / 2u);
    EXPECT_NE(combine_hashes(1, 2), combine_hashes(2, 1));
}

// What the conformance tests rely on for adversarial keys.
TEST(Hash, CollidingKeysCollide) {
    for (uint64_t x : {uint64_t{0}, uint64_t{1}, uint64_t{0x8000000080000001}, ~uint64_t{0}}) {
        EXPECT_EQ(test::unmix(mix(x)), x);
        EXPECT_EQ(test::unmix32(mix32(static_cast<uint32_t>(x))), static_cast<uint32_t>(x));
    }
    auto keys = test::colliding_keys(100);
    auto bytes = [](const test::Value& value) { return reinterpret_cast<const std::byte*>(value->data()); };
    std::set<std::string> different[2];
    for (uint32_t i = 0; i < 100; i++) {
        const test::Value& wide = keys[4].column.values[i];
        const test::Value& text = keys[5].column.values[i];
        EXPECT_EQ(hash_fixed(bytes(wide), 16), hash_fixed(bytes(keys[4].column.values[0]), 16));
        EXPECT_EQ(hash_bytes(bytes(text), 16), hash_bytes(bytes(keys[5].column.values[0]), 16));
        different[0].insert(*wide);
        different[1].insert(*text);
    }
    EXPECT_EQ(different[0].size(), 100u);
    EXPECT_EQ(different[1].size(), 100u);
}

TEST(OrderKey, FloatsSortWithNanLast) {
    std::vector<double> ordered{-INFINITY, -1e300, -1, -5e-324, 0, 5e-324, 1, 1e300, INFINITY, NAN};
    for (size_t i = 0; i + 1 < ordered.size(); i++) {
        EXPECT_LT(float_order_key(std::bit_cast<uint64_t>(ordered[i]), 64),
                  float_order_key(std::bit_cast<uint64_t>(ordered[i + 1]), 64));
        EXPECT_LT(float_order_key(std::bit_cast<uint32_t>(float(i) - 5), 32),
                  float_order_key(std::bit_cast<uint32_t>(float(i) - 4), 32));
    }
    EXPECT_EQ(float_order_key(std::bit_cast<uint64_t>(-0.0), 64), float_order_key(0, 64));
    EXPECT_EQ(float_order_key(std::bit_cast<uint64_t>(-double(NAN)), 64), float_order_key(~uint64_t{0}, 64));
}

TEST(OrderKey, NeverContradictsTheOrder) {
    std::mt19937 random(1);
    ColumnSpec column{ColumnType::Bytes, ValueOrder::Bytes, 0, 0};
    std::vector<std::string> values(300);
    for (std::string& value : values)
        for (uint32_t i = random() % 12; i > 0; i--) value += static_cast<char>(random() % 3 * 127);
    for (const std::string& a : values) {
        for (const std::string& b : values) {
            ValueRef x{reinterpret_cast<const std::byte*>(a.data()), a.size()};
            ValueRef y{reinterpret_cast<const std::byte*>(b.data()), b.size()};
            int order = compare_values(column, x, y);
            EXPECT_EQ(order < 0, a < b);
            EXPECT_EQ(order == 0, a == b);
            if (order_key(column, x) < order_key(column, y)) {
                EXPECT_LT(order, 0);
            }
            EXPECT_EQ(equal_values(x, y), a == b);
        }
    }
}

TEST(Search, BoundsAgreeWithTheStandardLibrary) {
    std::mt19937 random(2);
    for (uint32_t count : {0, 1, 2, 31, 32, 33, 1000}) {
        std::vector<int> sorted(count);
        for (int& value : sorted) value = static_cast<int>(random() % (count + 1));
        std::sort(sorted.begin(), sorted.end());
        for (int value = -1; value <= static_cast<int>(count) + 1; value++) {
            auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
            EXPECT_EQ(lower_bound(sorted.data(), count, value), uint32_t(first - sorted.begin()));
            EXPECT_EQ(upper_bound(sorted.data(), count, value), uint32_t(last - sorted.begin()));
        }
    }
}

TEST(Search, MergePathCutsEveryDiagonal) {
    std::vector<int> a{1, 2, 2, 2, 5, 9}, b{0, 2, 2, 5, 5, 5, 7};
    for (size_t diagonal = 0; diagonal <= a.size() + b.size(); diagonal++) {
        size_t from_a = merge_path(a.data(), a.size(), b.data(), b.size(), diagonal);
        size_t from_b = diagonal - from_a;
        ASSERT_LE(from_a, a.size());
        ASSERT_LE(from_b, b.size());
        if (from_a > 0 && from_b < b.size()) {
            EXPECT_LE(a[from_a - 1], b[from_b]);
        }
        if (from_b > 0 && from_a < a.size()) {
            EXPECT_LT(b[from_b - 1], a[from_a]);
        }
    }
}

TEST(Search, OwnersSkipEmptyRows) {
    std::vector<uint32_t> counts{0, 3, 0, 0, 1, 2, 0};
    std::vector<uint64_t> starts;
    std::vector<uint32_t> owners;
    for (uint32_t row = 0; row < counts.size(); row++) {
        starts.push_back(owners.size());
        owners.insert(owners.end(), counts[row], row);
    }
    for (uint64_t output = 0; output < owners.size(); output++)
        EXPECT_EQ(find_owner(starts.data(), uint32_t(counts.size()), output), owners[output]);
}

// What place_result() uses is what result_bytes() said, buffers are aligned and do not overlap.
TEST(ResultLayout, PlacesWhatItCounts) {
    std::vector<ResultColumn> columns{{ColumnType::Fixed4, true},
                                      {ColumnType::Bytes, false},
                                      {ColumnType::Fixed16, false},
                                      {ColumnType::Bytes, true}};
    for (uint32_t rows : {0, 1, 16, 17, 1000}) {
        ResultShape shape = make_result_shape(columns, true, true);
        std::vector<uint64_t> data{0, 3 * uint64_t{rows}, 0, 65};
        ResultBatch result;
        place_result(columns, true, true, rows, data, &result);
        EXPECT_EQ(result.bytes, result_bytes(shape, rows) + align_to_buffer(3 * rows) + 128);
        std::vector<std::pair<uint64_t, uint64_t>> buffers{{result.probe_rows, 4 * rows},
                                                           {result.build_rows, 8 * rows},
                                                           {result.columns[0].validity, (rows + 7) / 8},
                                                           {result.columns[0].values, 4 * rows},
                                                           {result.columns[1].values, 4 * rows + 4},
                                                           {result.columns[1].data, 3 * rows},
                                                           {result.columns[2].values, 16 * rows},
                                                           {result.columns[3].validity, (rows + 7) / 8},
                                                           {result.columns[3].values, 4 * rows + 4},
                                                           {result.columns[3].data, 65}};
        uint64_t end = 0;
        for (auto [start, bytes] : buffers) {
            EXPECT_EQ(start % kBufferAlignment, 0u);
            EXPECT_GE(start, end);
            end = start + bytes;
        }
        EXPECT_LE(end, result.bytes);
        EXPECT_EQ(result.columns[1].validity, kNoBuffer);
    }
}

TEST(ResultLayout, CutsAtTheLastRowThatFits) {
    std::vector<ResultColumn> columns{{ColumnType::Fixed8, true}, {ColumnType::Bytes, false}};
    ResultShape shape = make_result_shape(columns, true, false);
    auto data = [](uint64_t rows) { return align_to_buffer(10 * rows); };
    for (uint64_t budget = 0; budget < 20'000; budget += 61) {
        uint64_t rows = cut_rows(shape, 500, budget, data);
        if (rows > 0) {
            EXPECT_LE(result_bytes(shape, rows) + data(rows), budget);
        }
        if (rows < 500) {
            EXPECT_GT(result_bytes(shape, rows + 1) + data(rows + 1), budget);
        }
    }
    EXPECT_EQ(cut_rows(shape, uint64_t{1} << 40, uint64_t{1} << 40), kMaxBatchRows);
}

// Runs that continue each other are one, and then nothing is looked up.
TEST(RowNumbers, SayWhereRowsAreStored) {
    RowNumbers in_order, mixed;
    for (uint64_t row : {0, 10, 20, 30}) in_order.add(row, 10);
    EXPECT_EQ(in_order.runs().size(), 1u);
    for (uint64_t row : {20, 30, 0, 10, 40}) mixed.add(row, 10);
    EXPECT_EQ(mixed.runs().size(), 3u);
    EXPECT_TRUE(in_order.seal().ok() && mixed.seal().ok());
    for (auto [row, stored_at] : {std::pair(0, 20), {19, 39}, {20, 0}, {39, 19}, {40, 40}, {49, 49}}) {
        EXPECT_EQ(mixed.where_is(row), static_cast<uint64_t>(stored_at));
        EXPECT_EQ(mixed.number_of(stored_at), static_cast<uint64_t>(row));
    }
}

}  // namespace
}  // namespace gpujoin
