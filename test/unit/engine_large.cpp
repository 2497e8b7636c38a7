// Conformance of the engines at a million rows, where several threads, passes and partitions take part: keys
// of every width, duplicates, NULLs, hot keys, bands. What comes back is compared by count and by a sum over
// all result rows that does not depend on their order.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>

#include "engine_collisions.h"
#include "engine_harness.h"
#include "sanitized.h"

namespace gpujoin::test {
namespace {

constexpr uint64_t kNone = ~uint64_t{0};

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

// How numbers become keys: of one column, or of two that share the bits; and what they are multiplied by (an
// odd number keeps them different).
struct KeyForm {
    ColumnType type;
    uint64_t multiplier = 0x9e3779b97f4a7c15u;
    std::optional<ColumnType> second = {};

    uint16_t columns() const { return second ? 2 : 1; }
    ColumnType type_of(uint16_t column) const { return column ? *second : type; }
    uint64_t part(uint64_t number, uint16_t column) const {
        return (!second ? number : column ? number % 1024 : number / 1024) * multiplier;
    }
};

std::string describe(const KeyForm& form) {
    std::string text = "key of type " + std::to_string(static_cast<int>(form.type));
    if (form.second) text += " and " + std::to_string(static_cast<int>(*form.second));
    return text + (form.multiplier == 1 ? ", dense" : "");
}

// A column of values in memory.
class Values {
  public:
    Values(ColumnType type, uint64_t rows) : width_(fixed_width(type)) {
        values_.reserve(rows * (width_ ? width_ : 12));
        offsets_.reserve(rows + 1);
        offsets_.push_back(0);
    }

    void add(uint64_t number, bool null) {
        std::byte bytes[16] = {};
        if (!null) std::memcpy(bytes, &number, 8);
        if (!null && width_ == 16) std::memcpy(bytes + 8, &number, 8);
        if (!null || width_) values_.insert(values_.end(), bytes, bytes + (width_ ? width_ : 8 + number % 5));
        offsets_.push_back(static_cast<uint32_t>(values_.size()));
        nulls_.push_back(null);
        has_nulls_ |= null;
    }

    // Of rows [first, first + rows); what it points into lives until the next call.
    ColumnView view(uint64_t first, uint64_t rows) {
        ColumnView view{};
        if (width_) {
            view.values = values_.data() + first * width_;
        } else {
            const uint32_t start = offsets_[first];
            view_offsets_.clear();
            for (uint64_t i = 0; i <= rows; i++) view_offsets_.push_back(offsets_[first + i] - start);
            view.offsets = view_offsets_.data();
            view.data = values_.data() + start;
            view.data_bytes = view_offsets_.back();
        }
        if (has_nulls_) {
            validity_.assign(validity_bytes(rows), 0);
            for (uint64_t i = 0; i < rows; i++)
                validity_[i / 8] |= static_cast<uint8_t>(!nulls_[first + i] << (i % 8));
            view.validity = validity_.data();
        }
        return view;
    }

  private:
    const uint32_t width_;
    bool has_nulls_ = false;
    std::vector<std::byte> values_;
    std::vector<uint32_t> offsets_, view_offsets_;
    std::vector<bool> nulls_;
    std::vector<uint8_t> validity_;
};

// A relation in memory: the columns of the key, row number, and where a band is wanted the key's high end.
class Relation {
  public:
    Relation(const Numbers& numbers, const KeyForm& form, std::optional<uint64_t> band = {})
        : rows_(numbers.size()) {
        for (uint16_t c = 0; c < form.columns(); c++)
            add(
                form.type_of(c), [&](uint64_t row) { return form.part(numbers[row], c); },
                [&](uint64_t row) { return numbers[row] == kNone && row % form.columns() == c; });
        add(
            ColumnType::Fixed4, [](uint64_t row) { return row; }, [](uint64_t) { return false; });
        if (band)
            add(
                form.type, [&](uint64_t row) { return form.part(numbers[row] + *band, 0); },
                [&](uint64_t row) { return numbers[row] == kNone; });
    }

    uint64_t rows() const { return rows_; }

    // Rows [first, first + rows); what the view points into lives until the next call.
    BatchView batch(uint64_t first, uint64_t rows) {
        views_.clear();
        for (Values& column : columns_) views_.push_back(column.view(first, rows));
        return {rows, views_, Memory::Host};
    }

  private:
    template <typename Number, typename Null>
    void add(ColumnType type, const Number& number, const Null& null) {
        Values& column = columns_.emplace_back(type, rows_);
        for (uint64_t row = 0; row < rows_; row++) column.add(number(row), null(row));
    }

    const uint64_t rows_;
    std::vector<Values> columns_;
    std::vector<ColumnView> views_;
};

struct Total {
    uint64_t rows = 0;
    uint64_t sum = 0;
    bool operator==(const Total&) const = default;
    void add(uint64_t build, uint64_t probe) {
        rows++;
        sum += mix(build * 0x9e3779b97f4a7c15u + mix(probe));
    }
    Total& operator+=(const Total& more) {
        rows += more.rows;
        sum += more.sum;
        return *this;
    }
};
std::ostream& operator<<(std::ostream& out, const Total& total) {
    return out << total.rows << " rows with sum " << total.sum;
}

// What a join must give, whatever its kind.
struct Expected {
    Total pairs;
    Total probes[2], builds[2];  // rows without a match, and with one

    Total of(JoinKind kind) const {
        Total total;
        if (kind == JoinKind::Inner || kind == JoinKind::Left || kind == JoinKind::Right ||
            kind == JoinKind::Full)
            total += pairs;
        if (kind == JoinKind::Left || kind == JoinKind::Full || kind == JoinKind::Anti) total += probes[0];
        if (kind == JoinKind::Semi) total += probes[1];
        if (kind == JoinKind::Right || kind == JoinKind::Full || kind == JoinKind::RightAnti)
            total += builds[0];
        if (kind == JoinKind::RightSemi) total += builds[1];
        return total;
    }
};

// Of probe.key <= build.key <= probe.key + band.
Expected expect(const Numbers& build, const Numbers& probe, uint64_t band) {
    std::vector<std::pair<uint64_t, uint64_t>> sorted;
    for (uint64_t row = 0; row < build.size(); row++)
        if (build[row] != kNone) sorted.emplace_back(build[row], row);
    std::sort(sorted.begin(), sorted.end());
    Expected expected;
    std::vector<bool> matched(build.size());
    for (uint64_t row = 0; row < probe.size(); row++) {
        bool any = false;
        auto first = std::lower_bound(sorted.begin(), sorted.end(), std::pair{probe[row], uint64_t{0}});
        for (; probe[row] != kNone && first != sorted.end() && first->first <= probe[row] + band; ++first) {
            any = matched[first->second] = true;
            expected.pairs.add(first->second, row);
        }
        expected.probes[any].add(kNone, row);
    }
    for (uint64_t row = 0; row < build.size(); row++) expected.builds[matched[row]].add(row, kNone);
    return expected;
}

struct Case {
    JoinKind kind = JoinKind::Inner;
    Algorithm algorithm = Algorithm::Hash;
    ResultOrder order = ResultOrder::Ascending;
    bool is_band = false;
    uint64_t batch_rows = 200'000;
    uint64_t sink_bytes = 3u << 20;
};

// In any order: the whole probe side at once, so that both sides may be partitioned.
constexpr Case kUnordered{.order = ResultOrder::Any, .batch_rows = kMillion};

class LargeJoin : public EngineTest {
  protected:
    // The columns of relations; row numbers are given back. An index is asked for equality in its words: the
    // last column of the key, or the only one, is no less and no greater.
    static JoinSpec make_spec(const Case& c, const KeyForm& form) {
        JoinSpec spec{};
        spec.kind = c.kind;
        spec.algorithm = c.algorithm;
        spec.order = c.order;
        spec.names_probe_rows = c.order != ResultOrder::Any;
        const uint16_t keys = form.columns();
        for (uint16_t i = 0; i < keys; i++) {
            const bool bytes = form.type_of(i) == ColumnType::Bytes;
            spec.probe[i] = {form.type_of(i), bytes ? ValueOrder::Bytes : ValueOrder::Unsigned, 1, 0};
            if (!c.is_band) add_equality(spec, i, i);
        }
        spec.probe[keys] = fixed_column(ColumnType::Fixed4, ValueOrder::Unsigned, false);
        std::copy_n(spec.probe, keys + 1, spec.build);
        spec.probe_columns = spec.build_columns = keys + 1;
        if (c.is_band) {
            spec.probe[spec.probe_columns++] = spec.probe[0];
            add_range(spec, 0, Comparison::LessEqual, 0);
            add_range(spec, 2, Comparison::GreaterEqual, 0);
        } else if (c.algorithm == Algorithm::Index) {
            spec = with_equalities_as_ranges(spec, keys - 1);
        }
        spec.output[spec.outputs++] = keys;
        if (c.order == ResultOrder::Any) {
            spec.carry[spec.carried++] = keys;
            spec.estimated_probe_rows = kMillion;
        }
        return spec;
    }

    void read(Cursor& cursor, const JoinSpec& spec, uint64_t first_row, uint64_t sink_bytes, Total* total) {
        const SinkMemory memory(sink_bytes);
        const std::byte* sink = memory.data();
        for (ResultBatch result; !result.done;) {
            ASSERT_OK(cursor.next(memory.sink(), &result));
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
        Relation builds(build, form);
        Relation probes(probe, form, c.is_band ? std::optional(band) : std::nullopt);
        run(c, form, &builds, &probes, expect(build, probe, band));
    }
    void run(const Case& c, const KeyForm& form, Relation* builds, Relation* probes,
             const Expected& expected) {
        const JoinSpec spec = make_spec(c, form);
        SCOPED_TRACE(test::describe(spec) + ", " + describe(form));
        ASSERT_OK(validate(spec));
        std::unique_ptr<Join> join;
        SealReport report;
        ASSERT_OK(engine_->open(spec, limits(), &join));
        for (uint64_t first = 0; first < builds->rows(); first += c.batch_rows)
            ASSERT_OK(
                join->append(builds->batch(first, std::min(c.batch_rows, builds->rows() - first)), first));
        seal(*join, spec, &report);
        Total total;
        for (uint64_t first = 0; first < probes->rows(); first += c.batch_rows) {
            const uint64_t rows = std::min(c.batch_rows, probes->rows() - first);
            std::unique_ptr<Cursor> cursor;
            ASSERT_OK(join->probe(probes->batch(first, rows), &cursor));
            read(*cursor, spec, first, c.sink_bytes, &total);
        }
        if (c.kind == JoinKind::Right || c.kind == JoinKind::Full || c.kind == JoinKind::RightSemi ||
            c.kind == JoinKind::RightAnti) {
            std::unique_ptr<Cursor> cursor;
            ASSERT_OK(join->scan_build(c.kind == JoinKind::RightSemi, &cursor));
            read(*cursor, spec, 0, c.sink_bytes, &total);
        }
        EXPECT_EQ(total, expected.of(c.kind));
        join.reset();
        EXPECT_EQ(host_memory_.used(), 0u);
    }

    void run_every_kind(const KeyForm& form);
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

// A million rows a side, in every kind of join with every algorithm that does not look at all pairs: in probe
// order, and in any order where an engine then has another way. What must come is found once.
void LargeJoin::run_every_kind(const KeyForm& form) {
    const Numbers &build = some_numbers(kManyRows, true), &probe = some_numbers(kManyRows, false);
    static const Expected expected = expect(build, probe, 0);
    Relation builds(build, form), probes(probe, form);
    for (Algorithm algorithm : {Algorithm::Hash, Algorithm::SortMerge, Algorithm::Index})
        for (JoinKind kind : kKinds)
            run({.kind = kind, .algorithm = algorithm}, form, &builds, &probes, expected);
    Case unordered = kUnordered;
    run(unordered, form, &builds, &probes, expected);
    if (GetParam() != "cuda") return;
    unordered.algorithm = Algorithm::SortMerge;
    for (JoinKind kind : kKinds) {
        unordered.kind = kind;
        run(unordered, form, &builds, &probes, expected);
    }
}

TEST_P(LargeJoin, DenseKeysInEveryKind) {
    run_every_kind({ColumnType::Fixed4, 1});
}
TEST_P(LargeJoin, KeysOf4BytesInEveryKind) {
    run_every_kind({ColumnType::Fixed4});
}
TEST_P(LargeJoin, KeysOf8BytesInEveryKind) {
    run_every_kind({ColumnType::Fixed8});
}
TEST_P(LargeJoin, KeysOf16BytesInEveryKind) {
    run_every_kind({ColumnType::Fixed16});
}
TEST_P(LargeJoin, KeysOfBytesInEveryKind) {
    run_every_kind({ColumnType::Bytes});
}
// Two columns that are packed into one key, and two that are hashed.
TEST_P(LargeJoin, KeysOf4And4BytesInEveryKind) {
    run_every_kind({.type = ColumnType::Fixed4, .second = ColumnType::Fixed4});
}
TEST_P(LargeJoin, KeysOf16And4BytesInEveryKind) {
    run_every_kind({.type = ColumnType::Fixed16, .second = ColumnType::Fixed4});
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

TEST_P(LargeJoin, BandsInEveryKind) {
    constexpr uint64_t kBand = 2;
    const Numbers &build = some_numbers(kManyRows, true), &probe = some_numbers(kManyRows / 2, false);
    const Expected expected = expect(build, probe, kBand);
    for (ColumnType type : {ColumnType::Fixed4, ColumnType::Fixed8}) {
        Relation builds(build, {type, 1}), probes(probe, {type, 1}, kBand);
        for (Algorithm algorithm : {Algorithm::Index, Algorithm::SortMerge})
            for (JoinKind kind : kKinds)
                run({.kind = kind, .algorithm = algorithm, .is_band = true}, {type, 1}, &builds, &probes,
                    expected);
    }
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
    const SinkMemory memory(1u << 20);
    const Sink sink = memory.sink();
    bool failed = false, worked = false;
    for (uint64_t limit = 1u << 20; limit <= 64u << 20; limit += limit / 4) {
        Ledger host(limit), device(limit);
        std::atomic<bool> cancel{false};
        std::unique_ptr<Join> join;
        std::unique_ptr<Cursor> cursor;
        SealReport report;
        ResultBatch result;
        Status status = engine_->open(spec, {&host, &device, &cancel}, &join);
        if (status.ok()) status = join->append(batch, 0);
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
