// The keys that equality joins are tested with.
#pragma once

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "engine_collisions.h"
#include "engine_tables.h"
#include "sanitized.h"

namespace gpujoin::test {

struct KeyCase {
    const char* name;
    std::vector<ColumnPlan> columns;
};

// Keys of every width, packed and hashed, dense and sparse.
inline std::vector<KeyCase> key_cases(uint64_t distinct, double nulls) {
    auto fixed = [&](ColumnType type, bool spread, ValueOrder order = ValueOrder::Signed) {
        return ColumnPlan{fixed_column(type, order), distinct, spread, nulls};
    };
    ColumnPlan bytes{bytes_column(), distinct, true, nulls};
    ColumnPlan few{bytes_column(), 3, false, nulls};
    std::vector<KeyCase> cases = {
        {"1 byte", {fixed(ColumnType::Fixed1, false)}},
        {"2 bytes", {fixed(ColumnType::Fixed2, false, ValueOrder::Unsigned)}},
        {"4 bytes dense", {fixed(ColumnType::Fixed4, false)}},
        {"4 bytes sparse", {fixed(ColumnType::Fixed4, true)}},
        {"8 bytes dense", {fixed(ColumnType::Fixed8, false)}},
        {"8 bytes sparse", {fixed(ColumnType::Fixed8, true)}},
        {"double", {fixed(ColumnType::Fixed8, false, ValueOrder::Float)}},
        {"16 bytes", {fixed(ColumnType::Fixed16, true, ValueOrder::Bytes)}},
        {"bytes", {bytes}},
        {"4 + 4 bytes", {fixed(ColumnType::Fixed4, true), fixed(ColumnType::Fixed4, false)}},
        {"8 + 2 bytes", {fixed(ColumnType::Fixed8, false), fixed(ColumnType::Fixed2, false)}},
        {"16 + 8 bytes", {fixed(ColumnType::Fixed16, true), fixed(ColumnType::Fixed8, false)}},
        {"bytes + 4 bytes", {few, fixed(ColumnType::Fixed4, false)}},
        {"1 + 4 + 1 bytes",
         {{fixed_column(ColumnType::Fixed1), 2},
          fixed(ColumnType::Fixed4, true),
          {fixed_column(ColumnType::Fixed1), 2}}},
    };
    const std::set<std::string> few_names{"4 bytes dense", "8 bytes sparse", "bytes", "16 + 8 bytes"};
    if (kIsForThreads)
        std::erase_if(cases, [&](const KeyCase& key) { return !few_names.contains(key.name); });
    return cases;
}

// Tables for such a key where no two build rows have the same one, and half of the probe rows have one of
// theirs; some of those differ in the last of several columns.
inline TablePair make_unique_tables(const KeyCase& key, uint64_t probe_rows, uint64_t build_rows) {
    Random random(probe_rows * 31 + build_rows);
    std::vector<uint64_t> build(build_rows), probe(probe_rows);
    std::iota(build.begin(), build.end(), 0);
    std::shuffle(build.begin(), build.end(), random);
    for (uint64_t& number : probe) number = random() % (2 * build_rows);
    TablePair tables;
    for (const ColumnPlan& plan : key.columns) {
        const bool last_of_several = !tables.build.columns.empty() && &plan == &key.columns.back();
        Column of_probe{plan.spec, {}}, of_build = of_probe;
        for (uint64_t number : build) of_build.values.push_back(nth_value(plan, number));
        for (uint64_t row = 0; row < probe_rows; row++)
            of_probe.values.push_back(nth_value(plan, probe[row] + (last_of_several && row % 10 == 3)));
        tables.probe.columns.push_back(of_probe);
        tables.build.columns.push_back(of_build);
    }
    tables.build.columns.push_back(number_column(build_rows));
    tables.build.columns.push_back(text_column(build_rows));
    return tables;
}

// Tables whose keys collide, the same ones in opposite orders. With repeated ones some build keys come twice,
// and some probe keys have none.
inline TablePair make_colliding_tables(const CollidingKeys& keys, bool repeated) {
    TablePair tables;
    tables.probe.columns = {keys.column};
    tables.build.columns = {keys.column, number_column(keys.column.values.size())};
    std::vector<Value>& build = tables.build.columns[0].values;
    std::reverse(build.begin(), build.end());
    for (size_t i = 0; repeated && i < build.size(); i += 7) build[i] = keys.column.values[i / 2];
    return tables;
}

}  // namespace gpujoin::test
