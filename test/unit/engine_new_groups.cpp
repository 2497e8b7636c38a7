// Groups that begin while rows are added: whatever order their keys come in, also where more are new than the
// rows before let expect; and aggregates that are NULL in groups that begin late.
#include <functional>

#include "engine/hash.h"
#include "engine_group_tables.h"
#include "sanitized.h"

namespace gpujoin::test {
namespace {

class NewGroups : public FragmentGroups {
  protected:
    void expect_complete(TestGroups& fragment, uint64_t batch_rows, const std::string& what) {
        fragment.spec().completes_groups = 1;
        std::unique_ptr<Fragment> opened;
        open_fragment(*engine_, fragment, limits(), &opened);
        Came came;
        run_together(*opened, fragment, batch_rows,
                     [&](Cursor& cursor) { drain_groups(cursor, fragment, 1u << 16, &came); });
        if (!HasFatalFailure()) expect_same_groups(fragment, came, what);
    }
};

// Row i has the key key_of(i), or NULL where that is negative.
template <typename Key, typename KeyOf>
Column column_of_keys(ColumnType type, uint64_t rows, const KeyOf& key_of) {
    Column column{fixed_column(type), {}};
    for (uint64_t i = 0; i < rows; i++) {
        const int64_t key = key_of(i);
        column.values.push_back(key < 0 ? Value() : value_of(static_cast<Key>(key)));
    }
    return column;
}

// Many rows of a group behind each other, all different, few and many at random, and all the same; beside a
// second key; and with a value of any row.
TEST_P(NewGroups, KeysInAnyOrder) {
    const uint64_t rows = kIsSanitized ? 20'000 : 160'000;
    const std::vector<std::pair<std::string, std::function<int64_t(uint64_t)>>> orders{
        {"in order", [](uint64_t i) { return i % 1000 == 0 ? -1 : int64_t(i / 100); }},
        {"different", [](uint64_t i) { return int64_t(i * 7919 % 1'000'003); }},
        {"few", [](uint64_t i) { return int64_t(mix(i) % 50) - 1; }},
        {"many", [](uint64_t i) { return int64_t(mix(i) % 40'000) - 1; }},
        {"one", [](uint64_t) { return int64_t{7}; }}};
    for (const auto& [order, key_of] : orders) {
        const Column keys4 = column_of_keys<int32_t>(ColumnType::Fixed4, rows, key_of);
        const Column keys8 = column_of_keys<int64_t>(ColumnType::Fixed8, rows, key_of);
        const Column pairs =
            column_of_keys<int16_t>(ColumnType::Fixed2, rows, [](uint64_t i) { return int64_t(i % 3) - 1; });
        for (const Column& keys : {keys4, keys8}) {
            for (bool is_pair : {false, true}) {
                TestGroups fragment({{keys, pairs, number_column(rows)}});
                for (uint16_t c = 0; c < 3; c++) fragment.input(source_column(c));
                fragment.key(0);
                if (is_pair) fragment.key(1);
                fragment.aggregate(Function::Count)
                    .aggregate(Function::Sum, fragment.value_of_input(2))
                    .aggregate(Function::Any, 0);
                expect_groups(fragment, {.probe_batch = uint32_t(rows)}, order);
                if (HasFatalFailure()) return;
            }
        }
    }
}

// Of 100 groups at first, and then each row of another one.
TEST_P(NewGroups, MoreThanExpected) {
    const uint64_t few = 70'000, rows = kIsSanitized ? 80'000 : 270'000;
    const Column keys = column_of_keys<int64_t>(
        ColumnType::Fixed8, rows, [&](uint64_t i) { return i < few ? int64_t(i % 100) : int64_t(i); });
    TestGroups fragment({{keys, number_column(rows)}});
    fragment.input(source_column(0)).input(source_column(1)).key(0);
    fragment.aggregate(Function::Count).aggregate(Function::Sum, fragment.value_of_input(1));
    expect_groups(fragment, {.probe_batch = uint32_t(rows)}, "one batch");
    expect_complete(fragment, rows / 2, "two batches");
}

// The first batch has no NULLs, those behind it nothing but NULLs in some of their groups, new and old.
TEST_P(NewGroups, ValuesThatAreNullLater) {
    const uint64_t batch_rows = 3000, batches = 4;
    const uint64_t rows = batches * batch_rows;
    for (uint64_t with_nulls : {1, 0, 3}) {  // the batch that begins to have some
        std::vector<std::optional<int64_t>> words;
        for (uint64_t i = 0; i < rows; i++) {
            const bool is_null = i / batch_rows >= with_nulls && (i % 10 < 5 || i % 97 == 0);
            words.push_back(is_null ? std::nullopt : std::optional(int64_t(i) - 5000));
        }
        const Column keys = column_of_keys<int32_t>(ColumnType::Fixed4, rows, [&](uint64_t i) {
            return int64_t(i % 10 + 10 * (i / batch_rows / 2));
        });
        Table source{{keys, column_of_words(words)}};
        TestGroups fragment(source);
        fragment.input(source_column(0)).input(source_column(1)).key(0);
        const uint16_t value = fragment.value_of_input(1);
        fragment.aggregate(Function::Sum, value)
            .aggregate(Function::Minimum, value)
            .aggregate(Function::Maximum, value)
            .aggregate(Function::Count, value)
            .aggregate(Function::Count);
        const std::string what = "NULLs from batch " + std::to_string(with_nulls);
        expect_groups(fragment, {.probe_batch = uint32_t(batch_rows)}, what);
        if (HasFatalFailure()) return;
        expect_complete(fragment, batch_rows, what + ", tables are merged");
        if (HasFatalFailure()) return;
    }
}

GPUJOIN_FOR_EACH_ENGINE(NewGroups);

}  // namespace
}  // namespace gpujoin::test
