// Conformance of the engines at a million rows, where several threads, passes and partitions take part: keys
// of every width, duplicates, NULLs, hot keys, bands. What comes back is compared by count and by a sum over
// all result rows that does not depend on their order.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>

#include "engine_collisions.h"
#include "engine_harness.h"

namespace gpujoin::test {
namespace {

constexpr uint64_t kNone = ~uint64_t{0};
constexpr uint64_t kMillion = 1'000'000;

// Keys by row, as numbers; kNone: NULL.
using Numbers = std::vector<uint64_t>;

Numbers make_numbers(uint64_t rows, const std::function<uint64_t(uint64_t)>& number) {
    Numbers numbers(rows);
    for (uint64_t row = 0; row < rows; row++) numbers[row] = number(row);
    return numbers;
}

uint64_t random_number(uint64_t row) {
    return mix(row + 12345) >> 8;
}

// How numbers become keys: the type, and what they are multiplied by (an odd number keeps them different).
struct KeyForm {
    ColumnType type;
    uint64_t multiplier = 0x9e3779b97f4a7c15u;
};

// A relation in memory: key, row number. A batch of all rows, or of some.
class Relation {
  public:
    Relation(const Numbers& numbers, const KeyForm& form) : form_(form) {
        const uint32_t width = fixed_width(form.type);
        for (uint64_t row = 0; row < numbers.size(); row++) {
            const bool null = numbers[row] == kNone;
            has_nulls_ |= null;
            const uint64_t number = null ? 0 : numbers[row] * form.multiplier;
            std::byte bytes[16] = {};
            std::memcpy(bytes, &number, 8);
            if (width == 16) std::memcpy(bytes + 8, &number, 8);
            if (!null || width)
                values_.insert(values_.end(), bytes, bytes + (width ? width : 8 + number % 5));
            offsets_.push_back(static_cast<uint32_t>(values_.size()));
            nulls_.push_back(null);
            ids_.push_back(static_cast<uint32_t>(row));
        }
    }

    uint64_t rows() const { return ids_.size(); }

    // Rows [first, first + rows); what the view points into lives until the next call.
    BatchView batch(uint64_t first, uint64_t rows) {
        const uint32_t width = fixed_width(form_.type);
        views_[0] = {};
        if (width) {
            views_[0].values = values_.data() + first * width;
        } else {
            const uint32_t start = first ? offsets_[first - 1] : 0;
            batch_offsets_ = {0};
            for (uint64_t i = 0; i < rows; i++) batch_offsets_.push_back(offsets_[first + i] - start);
            views_[0].offsets = batch_offsets_.data();
            views_[0].data = values_.data() + start;
            views_[0].data_bytes = batch_offsets_.back();
        }
        if (has_nulls_) {
            validity_.assign(validity_bytes(rows), 0);
            for (uint64_t i = 0; i < rows; i++)
                validity_[i / 8] |= static_cast<uint8_t>(!nulls_[first + i] << (i % 8));
            views_[0].validity = validity_.data();
        }
        views_[1].values = reinterpret_cast<const std::byte*>(ids_.data() + first);
        return {rows, views_, Memory::Host};
    }

  private:
    const KeyForm form_;
    bool has_nulls_ = false;
    std::vector<std::byte> values_;
    std::vector<uint32_t> offsets_, ids_, batch_offsets_;
    std::vector<bool> nulls_;
    std::vector<uint8_t> validity_;
    ColumnView views_[2];
};

struct Total {
    uint64_t rows = 0;
    uint64_t sum = 0;
    bool operator==(const Total&) const = default;
    void add(uint64_t build, uint64_t probe) {
        rows++;
        sum += mix(build * 0x9e3779b97f4a7c15u + mix(probe));
    }
};
std::ostream& operator<<(std::ostream& out, const Total& total) {
    return out << total.rows << " rows with sum " << total.sum;
}

// What a join of any kind must give; probe.key <= build.key <= probe.key + band.
Total expected_total(JoinKind kind, const Numbers& build, const Numbers& probe, uint64_t band) {
    std::vector<std::pair<uint64_t, uint64_t>> sorted;
    for (uint64_t row = 0; row < build.size(); row++)
        if (build[row] != kNone) sorted.emplace_back(build[row], row);
    std::sort(sorted.begin(), sorted.end());
    const bool pairs = kind == JoinKind::Inner || kind == JoinKind::Left || kind == JoinKind::Right ||
                       kind == JoinKind::Full;
    const bool lonely_probes = kind == JoinKind::Left || kind == JoinKind::Full || kind == JoinKind::Anti;
    const bool lonely_builds =
        kind == JoinKind::Right || kind == JoinKind::Full || kind == JoinKind::RightAnti;
    Total total;
    std::vector<bool> matched(build.size());
    for (uint64_t row = 0; row < probe.size(); row++) {
        bool any = false;
        auto first = std::lower_bound(sorted.begin(), sorted.end(), std::pair{probe[row], uint64_t{0}});
        for (; probe[row] != kNone && first != sorted.end() && first->first <= probe[row] + band; ++first) {
            any = matched[first->second] = true;
            if (pairs) total.add(first->second, row);
        }
        if (any ? kind == JoinKind::Semi : lonely_probes) total.add(kNone, row);
    }
    for (uint64_t row = 0; row < build.size(); row++)
        if (matched[row] ? kind == JoinKind::RightSemi : lonely_builds) total.add(row, kNone);
    return total;
}

struct Case {
    JoinKind kind = JoinKind::Inner;
    Algorithm algorithm = Algorithm::Hash;
    OutputOrder order = OutputOrder::Probe;
    bool is_band = false;
    uint64_t batch_rows = 200'000;
    uint64_t sink_bytes = 3u << 20;
};

// In any order: the whole probe side at once, so that both sides may be partitioned.
constexpr Case kUnordered{.order = OutputOrder::None, .batch_rows = kMillion};

class LargeJoin : public EngineTest {
  protected:
    // Two columns a side: key, and row number, which is given back.
    static JoinSpec make_spec(const Case& c, const KeyForm& form) {
        JoinSpec spec{};
        spec.kind = c.kind;
        spec.algorithm = c.algorithm;
        spec.order = c.order;
        spec.probe_columns = spec.build_columns = 2;
        const ValueOrder order = form.type == ColumnType::Bytes ? ValueOrder::Bytes : ValueOrder::Unsigned;
        spec.probe[0] = spec.build[0] = {form.type, order, 1, 0};
        spec.probe[1] = spec.build[1] = fixed_column(ColumnType::Fixed4, ValueOrder::Unsigned, false);
        if (c.is_band) {
            spec.probe_columns = 3;
            spec.probe[2] = spec.probe[0];
            add_range(spec, 0, Comparison::LessEqual, 0);
            add_range(spec, 2, Comparison::GreaterEqual, 0);
        } else {
            add_equality(spec, 0, 0);
        }
        spec.output[spec.outputs++] = 1;
        if (c.order == OutputOrder::None) {
            spec.carry[spec.carried++] = 1;
            spec.estimated_probe_rows = kMillion;
        }
        return spec;
    }

    void read(Cursor& cursor, const JoinSpec& spec, uint64_t first_row, uint64_t sink_bytes, Total* total) {
        std::vector<std::byte> memory(sink_bytes + kBufferAlignment);
        void* start = memory.data();
        size_t space = memory.size();
        auto* sink = static_cast<std::byte*>(std::align(kBufferAlignment, sink_bytes, start, space));
        for (ResultBatch result; !result.done;) {
            ASSERT_OK(cursor.next({sink, sink_bytes, Memory::Host}, &result));
            ASSERT_TRUE(result.rows > 0 || result.done) << result.bytes_needed << " bytes needed";
            auto value = [&](uint32_t column, uint32_t row) {
                const ColumnBuffers& buffers = result.columns[column];
                const auto* validity = reinterpret_cast<const uint8_t*>(sink + buffers.validity);
                if (buffers.validity != kNoBuffer && !(validity[row / 8] >> (row % 8) & 1)) return kNone;
                return uint64_t{reinterpret_cast<const uint32_t*>(sink + buffers.values)[row]};
            };
            for (uint32_t row = 0; row < result.rows; row++) {
                uint64_t probe = kNone;
                if (spec.carried) {
                    probe = value(1, row);
                } else if (result.probe_rows != kNoBuffer) {
                    probe = first_row + reinterpret_cast<const uint32_t*>(sink + result.probe_rows)[row];
                }
                total->add(value(0, row), probe);
            }
        }
    }

    void run(const Case& c, const KeyForm& form, const Numbers& build, const Numbers& probe,
             uint64_t band = 0) {
        run(c, form, build, probe, band, expected_total(c.kind, build, probe, band));
    }
    void run(const Case& c, const KeyForm& form, const Numbers& build, const Numbers& probe, uint64_t band,
             const Total& expected) {
        const JoinSpec spec = make_spec(c, form);
        SCOPED_TRACE(describe(spec) + ", key of type " + std::to_string(static_cast<int>(form.type)));
        ASSERT_OK(validate(spec));
        Relation builds(build, form), probes(probe, form);
        std::vector<ColumnView> views;
        Numbers highs = probe;
        for (uint64_t& number : highs) number += number == kNone ? 0 : band;
        Relation high_keys(highs, form);
        std::unique_ptr<Join> join;
        SealReport report;
        ASSERT_OK(engine_->open(spec, limits(), &join));
        for (uint64_t first = 0; first < build.size(); first += c.batch_rows)
            ASSERT_OK(join->append(builds.batch(first, std::min(c.batch_rows, build.size() - first))));
        ASSERT_OK(join->seal(&report));
        Total total;
        for (uint64_t first = 0; first < probe.size(); first += c.batch_rows) {
            const uint64_t rows = std::min(c.batch_rows, probe.size() - first);
            const BatchView batch = probes.batch(first, rows), high = high_keys.batch(first, rows);
            std::vector<ColumnView> columns(batch.columns.begin(), batch.columns.end());
            if (c.is_band) columns.push_back(high.columns[0]);
            std::unique_ptr<Cursor> cursor;
            ASSERT_OK(join->probe({rows, columns, Memory::Host}, &cursor));
            read(*cursor, spec, first, c.sink_bytes, &total);
        }
        if (c.kind == JoinKind::Right || c.kind == JoinKind::Full || c.kind == JoinKind::RightSemi ||
            c.kind == JoinKind::RightAnti) {
            std::unique_ptr<Cursor> cursor;
            ASSERT_OK(join->scan_build(c.kind == JoinKind::RightSemi, &cursor));
            read(*cursor, spec, 0, c.sink_bytes, &total);
        }
        EXPECT_EQ(total, expected);
        join.reset();
        EXPECT_EQ(host_memory_.used(), 0u);
    }

    void run_within_limits(const Case& c);
};

const Numbers& some_numbers(uint64_t rows, bool duplicates) {
    static std::map<std::pair<uint64_t, bool>, Numbers> made;
    Numbers& numbers = made[{rows, duplicates}];
    if (numbers.empty()) {
        numbers = make_numbers(rows, [&](uint64_t row) {
            if (row % 101 == 7) return kNone;
            return duplicates ? random_number(row) % (rows / 2) : row * 3 % (2 * rows);
        });
    }
    return numbers;
}

TEST_P(LargeJoin, KeysOfEveryWidthInEveryAlgorithm) {
    const Numbers &build = some_numbers(kMillion, true), &probe = some_numbers(kMillion / 4, false);
    const Total full = expected_total(JoinKind::Full, build, probe, 0);
    const Total inner = expected_total(JoinKind::Inner, build, probe, 0);
    for (KeyForm form :
         {KeyForm{ColumnType::Fixed4, 1}, KeyForm{ColumnType::Fixed4}, KeyForm{ColumnType::Fixed8},
          KeyForm{ColumnType::Fixed16}, KeyForm{ColumnType::Bytes}}) {
        for (Algorithm algorithm : {Algorithm::Hash, Algorithm::SortMerge})
            run({.kind = JoinKind::Full, .algorithm = algorithm}, form, build, probe, 0, full);
        run(kUnordered, form, build, probe, 0, inner);
    }
}

TEST_P(LargeJoin, EveryKind) {
    const Numbers &build = some_numbers(100'000, true), &probe = some_numbers(kMillion / 4, false);
    for (JoinKind kind : kKinds) {
        run({.kind = kind}, {ColumnType::Fixed4}, build, probe);
        Case unordered = kUnordered;
        unordered.kind = kind;
        run(unordered, {ColumnType::Fixed8}, build, probe);
    }
}

// No two build rows share a key; then the last one has the first one's.
TEST_P(LargeJoin, UniqueKeys) {
    const Numbers &build = some_numbers(200'000, false), &probe = some_numbers(kMillion / 4, false);
    Numbers twice = build;
    twice.back() = twice.front();
    for (ColumnType type : {ColumnType::Fixed4, ColumnType::Fixed8}) {
        for (JoinKind kind : kKinds) run({.kind = kind}, {type}, build, probe);
        run({.kind = JoinKind::Full}, {type}, twice, probe);
    }
}

// One probe row in a hundred has a partner, later every one.
TEST_P(LargeJoin, FewKeysAreFoundAtFirst) {
    for (bool duplicates : {false, true}) {
        const Numbers& build = some_numbers(100'000, duplicates);
        const Numbers probe = make_numbers(kMillion / 4, [&](uint64_t row) {
            return row < kMillion / 8 && row % 100 ? row | 1 << 24 : build[row * 7 % build.size()];
        });
        for (ColumnType type : {ColumnType::Fixed4, ColumnType::Fixed8, ColumnType::Bytes})
            run({.kind = JoinKind::Left, .batch_rows = 20'000}, {type}, build, probe);
    }
}

TEST_P(LargeJoin, Bands) {
    const Numbers &build = some_numbers(kMillion, true), &probe = some_numbers(kMillion / 2, false);
    for (ColumnType type : {ColumnType::Fixed4, ColumnType::Fixed8})
        for (Algorithm algorithm : {Algorithm::Index, Algorithm::SortMerge})
            run({.kind = JoinKind::Full, .algorithm = algorithm, .is_band = true}, {type, 1}, build, probe,
                2);
}

// Half of one side shares a key that a few rows of the other have; then all keys are NULL.
TEST_P(LargeJoin, HotKeysAndNullsInAnyOrder) {
    const Numbers hot =
        make_numbers(kMillion / 2, [](uint64_t row) { return row % 2 ? 7 : random_number(row) | 1 << 20; });
    const Numbers cold =
        make_numbers(kMillion / 4, [](uint64_t row) { return row % 60'000 == 5 ? 7 : row + 8; });
    for (ColumnType type : {ColumnType::Fixed4, ColumnType::Fixed8}) {
        run(kUnordered, {type}, hot, cold);
        run(kUnordered, {type}, cold, hot);
    }
    const Numbers nulls(kMillion / 4, kNone);
    run(kUnordered, {ColumnType::Fixed4}, nulls, cold);
    run(kUnordered, {ColumnType::Fixed4}, cold, nulls);
}

// A hundred rows a key on both sides: results of many sinks, which end anywhere, also inside a row's matches.
TEST_P(LargeJoin, SmallSinksInAnyOrder) {
    const Numbers many = make_numbers(50'000, [](uint64_t row) { return random_number(row) % 500; });
    Case c = kUnordered;
    for (uint64_t sink_bytes : {70'000, 1'000'000}) {
        c.sink_bytes = sink_bytes;
        run(c, {ColumnType::Fixed4}, many, many);
    }
}

// Batches too small to be worth partitioning follow one that was, and there may be more than one cursor.
TEST_P(LargeJoin, BatchesOfEverySizeInAnyOrder) {
    const Numbers &build = some_numbers(100'000, true), &probe = some_numbers(kMillion / 4, false);
    for (uint64_t batch_rows : {5'000, 60'000}) {
        Case c = kUnordered;
        c.batch_rows = batch_rows;
        run(c, {ColumnType::Fixed4}, build, probe);
    }
}

// Keys whose mixed bits are alike where partitions and places are chosen, among others.
TEST_P(LargeJoin, AdversarialHashesInAnyOrder) {
    auto number = [](uint64_t row) { return row % 40 ? row << 20 : unmix((row / 40) << 40 | 0x12345); };
    const Numbers build = make_numbers(40'000, number), probe = make_numbers(50'000, number);
    run(kUnordered, {ColumnType::Fixed8, 1}, build, probe);
    auto narrow = [](uint64_t row) {
        return uint64_t{row % 40 ? static_cast<uint32_t>(row) << 12
                                 : unmix32(static_cast<uint32_t>(row / 40) << 20 | 77)};
    };
    // 4-byte numbers repeat: so do their low bits.
    run(kUnordered, {ColumnType::Fixed4, 1}, make_numbers(40'000, narrow), make_numbers(3'000, narrow));
}

// Different keys whose mixed bits are alike where one place is chosen, or one partition.
TEST_P(LargeJoin, AdversarialHashes) {
    auto one_place = [](uint64_t row) {
        return row % 40 ? row : unmix(uint64_t{0x12345678} << 32 | (row / 40));
    };
    auto one_partition = [](uint64_t row) { return unmix(mix(row) >> 2); };
    const Case full{.kind = JoinKind::Full};
    const KeyForm form{ColumnType::Fixed8, 1};
    run(full, form, make_numbers(40'000, one_place), make_numbers(50'000, one_place));
    run(full, form, make_numbers(40'000, one_partition), make_numbers(50'000, one_partition));
}

// Whatever the limit, a join works or says 53200, and gives everything back; and it stops when asked to.
void LargeJoin::run_within_limits(const Case& c) {
    const Numbers& numbers = some_numbers(100'000, false);
    const JoinSpec spec = make_spec(c, {ColumnType::Fixed4});
    Relation relation(numbers, {ColumnType::Fixed4});
    const BatchView batch = relation.batch(0, relation.rows());
    std::vector<std::byte> memory((1u << 20) + kBufferAlignment);
    void* start = memory.data();
    size_t space = memory.size();
    const Sink sink{static_cast<std::byte*>(std::align(kBufferAlignment, 1u << 20, start, space)), 1u << 20,
                    Memory::Host};
    bool failed = false, worked = false;
    for (uint64_t limit = 1u << 20; limit <= 64u << 20; limit += limit / 4) {
        Ledger host(limit), device(limit);
        std::atomic<bool> cancel{false};
        std::unique_ptr<Join> join;
        std::unique_ptr<Cursor> cursor;
        SealReport report;
        ResultBatch result;
        Status status = engine_->open(spec, {&host, &device, &cancel}, &join);
        if (status.ok()) status = join->append(batch);
        if (status.ok()) status = join->seal(&report);
        if (status.ok()) status = join->probe(batch, &cursor);
        if (status.ok()) status = cursor->next(sink, &result);
        if (status.ok()) {
            worked = true;
            cancel = true;
            EXPECT_EQ(cursor->next(sink, &result).fault, Fault::Cancelled);
        } else {
            failed = true;
            EXPECT_STREQ(status.sqlstate, "53200");
        }
        cursor.reset();
        join.reset();
        EXPECT_EQ(host.used() + device.used(), 0u);
    }
    EXPECT_TRUE(failed && worked);
}

TEST_P(LargeJoin, LimitsAndCancelInAnyOrder) {
    run_within_limits(kUnordered);
}

TEST_P(LargeJoin, LimitsAndCancel) {
    run_within_limits({});
}

GPUJOIN_FOR_EACH_ENGINE(LargeJoin);

}  // namespace
}  // namespace gpujoin::test
