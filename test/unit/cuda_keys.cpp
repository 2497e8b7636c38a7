// How the CUDA engine reads the keys of rows, which kernels and the host do by the same functions: keys by
// place and sort keys are equal just where the columns are, and a search by rebased order keys finds what a
// search by order keys does. Needs no device.
#include "engine_harness.h"
#include "engine_tables.h"

#ifdef GPUJOIN_TEST_CUDA
#include <algorithm>

#include "cuda/columns/key_span.h"
#include "cuda/hash/lookup.cuh"

namespace gpujoin::test {

using namespace cuda;
namespace {

// The columns of a table as kernels see them, but in host memory. All of 8 bytes.
class HostColumns {
  public:
    explicit HostColumns(const std::vector<std::vector<int64_t>>& columns) : values_(columns) {
        for (const auto& column : values_) {
            DeviceColumn view;
            view.values = reinterpret_cast<const std::byte*>(column.data());
            view.spec = fixed_column(ColumnType::Fixed8, ValueOrder::Signed, false);
            view.width = sizeof(int64_t);
            views_.push_back(view);
        }
    }
    const DeviceColumn* views() const { return views_.data(); }
    uint64_t rows() const { return values_[0].size(); }
    bool equal(uint64_t row, const HostColumns& other, uint64_t other_row) const {
        for (size_t i = 0; i < values_.size(); i++)
            if (values_[i][row] != other.values_[i][other_row]) return false;
        return true;
    }
    KeySpan span(size_t column) const {
        std::vector<uint64_t> keys;
        for (uint64_t row = 0; row < rows(); row++)
            keys.push_back(order_key(views_[column].spec, views_[column].value(row)));
        auto [least, greatest] = std::minmax_element(keys.begin(), keys.end());
        return {*least, *greatest};
    }

  private:
    std::vector<std::vector<int64_t>> values_;
    std::vector<DeviceColumn> views_;
};

// Values from `first` on, so many different ones.
std::vector<int64_t> values_from(int64_t first, int64_t distinct, uint64_t rows, uint64_t seed) {
    Random random(seed);
    std::vector<int64_t> values;
    for (uint64_t i = 0; i < rows; i++)
        values.push_back(first + static_cast<int64_t>(random() % static_cast<uint64_t>(distinct)));
    return values;
}

// A layout that goes by the places of a build side's columns.
KeyLayout placed_layout(const HostColumns& build, uint32_t columns) {
    KeyLayout layout;
    layout.parts = columns;
    std::vector<KeySpan> spans;
    for (uint32_t i = 0; i < columns; i++) {
        layout.part[i] = {static_cast<uint16_t>(i), static_cast<uint16_t>(i), 8, 0};
        spans.push_back(build.span(i));
    }
    layout.places = make_key_places(spans.data(), columns);
    layout.by_place = layout.places.parts > 0;
    layout.bytes = layout.places.last < UINT32_MAX ? 4 : 8;
    return layout;
}

template <typename Key>
void expect_keys_like_columns(const KeyLayout& layout, const HostColumns& build, const HostColumns& probe) {
    ASSERT_EQ(layout.bytes, sizeof(Key));
    ASSERT_LE(sort_key_bits(layout), static_cast<int>(8 * sizeof(Key)));
    for (uint64_t p = 0; p < probe.rows(); p++) {
        uint64_t place;
        bool has_place = find_place<false>(layout, probe.views(), p, &place);
        Key probe_key = read_key<Key, false>(layout, probe.views(), p);
        Key probe_sorted = read_sort_key<Key, false>(layout, probe.views(), p);
        EXPECT_LE(std::bit_width(probe_sorted), sort_key_bits(layout));
        for (uint64_t b = 0; b < build.rows(); b++) {
            bool equal = build.equal(b, probe, p);
            Key build_key = read_key<Key, true>(layout, build.views(), b);
            EXPECT_EQ(has_place && build_key == probe_key, equal);
            EXPECT_EQ((read_sort_key<Key, true>(layout, build.views(), b)) == probe_sorted, equal);
        }
    }
}

TEST(CudaKeys, ByPlaceAreEqualWhereColumnsAre) {
    constexpr int64_t kLeast = std::numeric_limits<int64_t>::lowest();
    constexpr int64_t kBase = 1'700'000'000'000'000;
    for (uint32_t columns : {1, 2, 3}) {
        const std::vector<std::vector<int64_t>> build{values_from(kBase, 6, 40, 1), values_from(-2, 4, 40, 2),
                                                      values_from(kLeast, 3, 40, 3)};
        std::vector<std::vector<int64_t>> probe{values_from(kBase - 1, 8, 60, 4), values_from(-3, 6, 60, 5),
                                                values_from(kLeast, 4, 60, 6)};
        probe[0][7] = kLeast;
        probe[1][8] = std::numeric_limits<int64_t>::max();
        HostColumns b({build.begin(), build.begin() + columns}), p({probe.begin(), probe.begin() + columns});
        expect_keys_like_columns<uint32_t>(placed_layout(b, columns), b, p);
    }
    HostColumns b({values_from(-100, 200, 50, 7), values_from(0, int64_t{1} << 45, 50, 8)});
    HostColumns p({values_from(-101, 203, 50, 7), values_from(0, int64_t{1} << 45, 50, 8)});
    expect_keys_like_columns<uint64_t>(placed_layout(b, 2), b, p);
}

template <typename Key>
void expect_same_search(const HostColumns& build, const HostColumns& probe, const KeySpan& span) {
    std::vector<uint64_t> keys;
    for (uint64_t row = 0; row < build.rows(); row++)
        keys.push_back(order_key(build.views()[0].spec, build.views()[0].value(row)));
    std::sort(keys.begin(), keys.end());
    std::vector<Key> rebased;
    for (uint64_t key : keys) rebased.push_back(static_cast<Key>(span.rebase(key)));
    const Group all{0, static_cast<uint32_t>(keys.size())};
    for (bool after : {false, true}) {
        for (bool other_after : {false, true}) {
            const RangeBound bounds[] = {{0, true, after, false}, {1, false, other_after, true}};
            LookupView plain, counted;
            plain.bounds = counted.bounds = bounds;
            plain.bound_count = counted.bound_count = 2;
            counted.span = span;
            for (uint64_t row = 0; row < probe.rows(); row++) {
                Group expected = narrow(plain, keys.data(), all, probe.views(), row);
                Group found = narrow(counted, rebased.data(), all, probe.views(), row);
                ASSERT_EQ(found.count, expected.count) << row;
                ASSERT_EQ(found.begin, expected.begin) << row;
            }
        }
    }
}

TEST(CudaKeys, RebasedSearchFindsTheSame) {
    constexpr int64_t kLeast = std::numeric_limits<int64_t>::lowest();
    constexpr int64_t kGreatest = std::numeric_limits<int64_t>::max();
    for (int64_t first : {kLeast, int64_t{-20}, int64_t{1} << 50, kGreatest - 49}) {
        HostColumns build({values_from(first, 50, 70, 1)});
        int64_t below = first == kLeast ? kLeast : first - 5,
                above = first > kGreatest - 70 ? kGreatest - 55 : first;
        std::vector<std::vector<int64_t>> probe{values_from(below, 55, 100, 2),
                                                values_from(above, 56, 100, 3)};
        probe[0][0] = probe[1][1] = kLeast;
        probe[0][1] = probe[1][0] = kGreatest;
        probe[0][2] = probe[0][3] = kLeast;
        probe[1][2] = probe[1][4] = kGreatest;
        KeySpan span = build.span(0);
        EXPECT_LE(order_key_bits(build.views()[0], span), 6);
        expect_same_search<uint32_t>(build, HostColumns(probe), span);
        expect_same_search<uint64_t>(build, HostColumns(probe), span);
        expect_same_search<uint64_t>(build, HostColumns(probe), {});
    }
}

}  // namespace
}  // namespace gpujoin::test
#endif
