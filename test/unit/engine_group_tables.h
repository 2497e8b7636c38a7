// TestGroups: a fragment whose sink is groups, and what they are when the rows are aggregated one by one; and
// the client's part, which makes groups of partial ones.
#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "engine/filter_machine.h"
#include "engine_fragment_tables.h"

namespace gpujoin::test {

using Function = AggregateFunction;
using Opcode = FilterOpcode;
using Values = std::vector<Value>;
inline constexpr auto source_column = TestFragment::of_source;
inline constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kGreatest = std::numeric_limits<int64_t>::max();

// A row of inputs, as one pair of the machine.
struct OneRow {
    static constexpr uint32_t kLanes = 1;
    static constexpr bool kOneProbeRow = false;
    using Mask = uint32_t;

    const Values* values;
    const std::vector<ColumnSpec>* columns;

    Mask fetch(FilterSource, uint16_t number, int64_t* to) const {
        const Value& value = (*values)[number];
        const ColumnSpec& column = (*columns)[number];
        *to = 0;
        if (!value) return 1;
        std::memcpy(to, value->data(), value->size());
        if (value->size() == 4 && column.order == ValueOrder::Float) {
            float number4;
            std::memcpy(&number4, value->data(), sizeof number4);
            *to = as_bits(number4);
        } else if (column.order == ValueOrder::Signed) {
            const uint64_t unused = 64 - 8 * value->size();
            *to = static_cast<int64_t>(static_cast<uint64_t>(*to) << unused) >> unused;
        }
        return 0;
    }
};

// An aggregate of some rows, or of some groups.
struct Aggregated {
    __int128 sum = 0;  // of a Count or Sum of integers
    double float_sum = 0;
    std::optional<int64_t> extreme;
    bool has_value = false;
    std::set<Value> any;  // all values that there are

    bool operator==(const Aggregated&) const = default;
};

using Groups = std::map<Values, std::vector<Aggregated>>;

inline std::ostream& operator<<(std::ostream& out, const Aggregated& aggregated) {
    return out << static_cast<double>(aggregated.sum) << " " << aggregated.float_sum << " "
               << aggregated.extreme.value_or(0) << " " << aggregated.has_value;
}

class TestGroups : public TestFragment {
  public:
    using TestFragment::TestFragment;

    bool is_float(const AggregateSpec& aggregate) const {
        return aggregate.function != Function::Any && aggregate.value != kNoNumber &&
               kind_of(view().spec->value[aggregate.value]) == ValueKind::Float;
    }
    std::vector<ColumnSpec> columns() const {
        std::vector<ColumnSpec> columns;
        for (uint32_t i = 0; i < group_columns(*view().spec); i++) columns.push_back(group_column(view(), i));
        return columns;
    }

    // What aggregating row by row gives, and which rows escape.
    void expect(Groups* groups, std::multiset<Values>* escaped) const;
    // Adds a partial group that came.
    void combine(const Values& group, Groups* groups) const;

  private:
    void take_extreme(const AggregateSpec& aggregate, int64_t value, Aggregated* to) const;
};

inline void TestGroups::take_extreme(const AggregateSpec& aggregate, int64_t value, Aggregated* to) const {
    const bool of_floats = is_float(aggregate);
    auto is_less = [&](int64_t a, int64_t b) {
        return of_floats ? floats_less(as_double(a), as_double(b)) : a < b;
    };
    const bool is_better =
        !to->extreme || (aggregate.function == Function::Minimum ? is_less(value, *to->extreme)
                                                                 : is_less(*to->extreme, value));
    if (is_better) to->extreme = value;
}

inline void TestGroups::expect(Groups* groups, std::multiset<Values>* escaped) const {
    const FragmentSpec& spec = *view().spec;
    const std::vector<ColumnSpec> inputs = input_columns();
    for (const Row& row : rows()) {
        Values values;
        for (uint32_t i = 0; i < spec.inputs; i++) values.push_back(value_at(row, spec.input[i]));
        const OneRow pairs{&values, &inputs};
        std::vector<FilterMachine<OneRow>::Numbers> numbers(spec.values);
        std::vector<FilterMachine<OneRow>::Truths> truths(spec.values);
        for (uint32_t i = 0; i < spec.values; i++) {
            FilterMachine<OneRow> machine;
            if (kind_of(spec.value[i]) == ValueKind::Truth) {
                truths[i] = machine.run_for_truth(spec.value[i], pairs);
                numbers[i].null = truths[i].null;
                numbers[i].undecided = truths[i].undecided;
            } else {
                machine.run_for_number(spec.value[i], pairs, &numbers[i]);
            }
        }
        auto passes = [&](const AggregateSpec& aggregate) {
            return aggregate.filter == kNoNumber || (truths[aggregate.filter].truth & 1);
        };
        bool escapes = false;
        for (uint32_t i = 0; i < spec.aggregates; i++) {
            const AggregateSpec& aggregate = spec.aggregate[i];
            if (aggregate.filter != kNoNumber) escapes |= truths[aggregate.filter].undecided & 1;
            if (aggregate.function != Function::Any && aggregate.value != kNoNumber && passes(aggregate))
                escapes |= numbers[aggregate.value].undecided & 1;
        }
        if (escapes) {
            escaped->insert(values);
            continue;
        }
        Values key;
        for (uint32_t i = 0; i < spec.keys; i++) key.push_back(values[spec.key[i]]);
        std::vector<Aggregated>& group = (*groups)[key];
        group.resize(spec.aggregates);
        for (uint32_t i = 0; i < spec.aggregates; i++) {
            const AggregateSpec& aggregate = spec.aggregate[i];
            Aggregated& to = group[i];
            if (aggregate.function == Function::Any) {
                to.any.insert(values[aggregate.value]);
                continue;
            }
            if (!passes(aggregate)) continue;
            const auto* number = aggregate.value == kNoNumber ? nullptr : &numbers[aggregate.value];
            if (number && (number->null & 1)) continue;
            if (aggregate.function == Function::Count) {
                to.sum++;
            } else if (aggregate.function != Function::Sum) {
                take_extreme(aggregate, number->value[0], &to);
            } else if (is_float(aggregate)) {
                to.float_sum += as_double(number->value[0]);
            } else {
                to.sum += number->value[0];
            }
            to.has_value |= aggregate.function != Function::Count;
        }
    }
}

inline void TestGroups::combine(const Values& group, Groups* groups) const {
    const FragmentSpec& spec = *view().spec;
    std::vector<Aggregated>& to = (*groups)[Values(group.begin(), group.begin() + spec.keys)];
    to.resize(spec.aggregates);
    for (uint32_t i = 0; i < spec.aggregates; i++) {
        const AggregateSpec& aggregate = spec.aggregate[i];
        const Value& value = group[spec.keys + i];
        if (aggregate.function == Function::Any) {
            to[i].any.insert(value);
            continue;
        }
        ASSERT_TRUE(value || aggregate.function != Function::Count);
        if (!value) continue;
        to[i].has_value |= aggregate.function != Function::Count;
        if (aggregate.function == Function::Sum && !is_float(aggregate)) {
            __int128 sum;
            ASSERT_EQ(value->size(), sizeof sum);
            std::memcpy(&sum, value->data(), sizeof sum);
            to[i].sum += sum;
            continue;
        }
        int64_t word;
        ASSERT_EQ(value->size(), sizeof word);
        std::memcpy(&word, value->data(), sizeof word);
        if (aggregate.function == Function::Count) {
            to[i].sum += word;
        } else if (aggregate.function == Function::Sum) {
            to[i].float_sum += as_double(word);
        } else {
            take_extreme(aggregate, word, &to[i]);
        }
    }
}

// The rows of a result, as values.
inline std::vector<Values> read_values(const std::vector<ColumnSpec>& columns, const std::byte* sink,
                                       const ResultBatch& result) {
    std::vector<Values> rows(result.rows);
    for (size_t c = 0; c < columns.size(); c++) {
        const ColumnBuffers& buffers = result.columns[c];
        const auto* values = reinterpret_cast<const char*>(sink + buffers.values);
        const auto* offsets = reinterpret_cast<const uint32_t*>(values);
        const auto* data = reinterpret_cast<const char*>(sink + buffers.data);
        for (uint32_t i = 0; i < result.rows; i++) {
            const bool is_null = buffers.validity != kNoBuffer &&
                                 !(static_cast<uint8_t>(sink[buffers.validity + i / 8]) >> (i % 8) & 1);
            const uint32_t width = fixed_width(columns[c].type);
            const std::string bytes = width > 0 ? std::string(values + i * width, width)
                                                : std::string(data + offsets[i], offsets[i + 1] - offsets[i]);
            EXPECT_TRUE(!is_null || bytes == std::string(width, '\0')) << "bytes of a NULL";
            rows[i].push_back(is_null ? Value() : Value(bytes));
        }
    }
    return rows;
}

// What came of a fragment.
struct Came {
    Groups groups;
    std::multiset<Values> escaped;
    uint64_t partial_groups = 0;
    uint64_t results = 0;  // with groups, and those of them that are complete ones
    uint64_t complete_results = 0;
};

inline void drain_groups(Cursor& cursor, const TestGroups& fragment, uint64_t sink_bytes, Came* came) {
    SinkMemory memory(sink_bytes);
    const std::vector<ColumnSpec> columns = fragment.columns(), inputs = fragment.input_columns();
    for (ResultBatch result; !result.done;) {
        ASSERT_OK(cursor.next(memory.sink(), &result));
        EXPECT_EQ(result.probe_rows, kNoBuffer);
        if (result.bytes_needed > 0) {
            ASSERT_GT(result.bytes_needed, memory.bytes());
            memory = SinkMemory(result.bytes_needed);
            continue;
        }
        ASSERT_TRUE(result.rows > 0 || result.done || Turn::current());
        ASSERT_LE(result.bytes, memory.bytes());
        if (result.rows == 0) continue;
        if (result.undecided) {
            for (Values& row : read_values(inputs, memory.data(), result))
                came->escaped.insert(std::move(row));
            continue;
        }
        for (const Values& group : read_values(columns, memory.data(), result))
            fragment.combine(group, &came->groups);
        came->partial_groups += result.rows;
        came->results++;
        came->complete_results += result.complete;
    }
}

inline void run_groups(Fragment& opened, const TestGroups& fragment, const Pacing& pacing, Came* came) {
    const Table& source = fragment.source();
    for (uint64_t first = 0; first < source.rows(); first += pacing.probe_batch) {
        OwnedBatch batch(source, first, std::min(pacing.probe_batch, source.rows() - first));
        std::unique_ptr<Cursor> cursor;
        ASSERT_OK(opened.run(batch.view(), &cursor));
        drain_groups(*cursor, fragment, pacing.sink_bytes, came);
        if (testing::Test::HasFatalFailure()) return;
    }
    std::unique_ptr<Cursor> cursor;
    ASSERT_OK(opened.flush(&cursor));
    drain_groups(*cursor, fragment, pacing.sink_bytes, came);
}

// The groups of results that are small, one by one as they come.
inline void take_groups(Cursor& cursor, const TestGroups& fragment, std::vector<Values>* groups) {
    SinkMemory memory(4096);
    for (ResultBatch result; !result.done;) {
        ASSERT_OK(cursor.next(memory.sink(), &result));
        if (result.rows == 0) continue;
        for (Values& group : read_values(fragment.columns(), memory.data(), result))
            groups->push_back(std::move(group));
    }
}

// Has so many batches at the same time, so that they have tables of their own. drain: takes what a cursor
// gives.
template <typename Drain>
void run_together(Fragment& opened, const TestGroups& fragment, uint64_t batch_rows, const Drain& drain) {
    const Table& source = fragment.source();
    std::vector<std::unique_ptr<OwnedBatch>> batches;
    std::vector<std::unique_ptr<Cursor>> cursors;
    for (uint64_t first = 0; first < source.rows(); first += batch_rows) {
        batches.push_back(
            std::make_unique<OwnedBatch>(source, first, std::min(batch_rows, source.rows() - first)));
        ASSERT_OK(opened.run(batches.back()->view(), &cursors.emplace_back()));
    }
    for (auto& cursor : cursors) drain(*cursor);
    cursors.clear();
    std::unique_ptr<Cursor> cursor;
    ASSERT_OK(opened.flush(&cursor));
    drain(*cursor);
}

// Any value that came is one that there is; all else is the same.
inline void expect_same_groups(const TestGroups& fragment, const Came& came, const std::string& what) {
    Groups expected;
    std::multiset<Values> escaped;
    fragment.expect(&expected, &escaped);
    ASSERT_EQ(came.groups.size(), expected.size()) << what;
    EXPECT_EQ(came.escaped, escaped) << what;
    for (const auto& [key, wanted] : expected) {
        const auto found = came.groups.find(key);
        ASSERT_NE(found, came.groups.end()) << what;
        for (size_t i = 0; i < wanted.size(); i++) {
            Aggregated actual = found->second[i], reference = wanted[i];
            if (!reference.any.empty()) {
                EXPECT_TRUE(!actual.any.empty() && std::includes(reference.any.begin(), reference.any.end(),
                                                                 actual.any.begin(), actual.any.end()))
                    << what << ", aggregate " << i;
                actual.any = reference.any;
            }
            if (std::isnan(reference.float_sum) && std::isnan(actual.float_sum))
                actual.float_sum = reference.float_sum = 0;
            ASSERT_EQ(actual, reference) << what << ", aggregate " << i;
        }
    }
}

// A stage that lets all rows through, so that tests may look at the sink alone.
inline Table nothing() {
    return {{number_column(0)}};
}
inline TestGroups& let_through(TestGroups& fragment) {
    fragment.join(JoinKind::Anti, nothing(), {});
    return fragment;
}

inline Column column_of_words(const std::vector<std::optional<int64_t>>& words) {
    Column column{fixed_column(ColumnType::Fixed8), {}};
    for (const auto& word : words) column.values.push_back(word ? value_of(*word) : Value());
    return column;
}
inline Column column_of_doubles(const std::vector<std::optional<double>>& numbers) {
    Column column{fixed_column(ColumnType::Fixed8, ValueOrder::Float), {}};
    for (const auto& number : numbers) column.values.push_back(number ? value_of(*number) : Value());
    return column;
}

class FragmentGroups : public EngineTest {
  protected:
    void expect_groups(const TestGroups& fragment, const Pacing& pacing, const std::string& what,
                       Came* came = nullptr) {
        std::unique_ptr<Fragment> opened;
        open_fragment(*engine_, fragment, limits(), &opened);
        if (HasFatalFailure()) return;
        Came own;
        if (!came) came = &own;
        run_groups(*opened, fragment, pacing, came);
        if (HasFatalFailure()) return;
        expect_same_groups(fragment, *came, what);
        const SinkStats stats = opened->sink_stats();
        EXPECT_EQ(stats.rows, fragment.rows().size()) << what;
        EXPECT_EQ(stats.escaped_rows, came->escaped.size()) << what;
        EXPECT_EQ(stats.groups, came->partial_groups) << what;
    }

    // Whatever memory there is: a fragment of one stage, or none, that one batch runs through. comes_early:
    // whether groups came out before the end where there was less of it.
    // least_limit: bytes, and how much more each time, in shares.
    void expect_groups_with_little_memory(const TestGroups& fragment, uint64_t least_limit, uint64_t share,
                                          bool* comes_early = nullptr) {
        bool failed = false;
        uint64_t least = ~uint64_t{0}, most = 0;
        for (uint64_t limit = least_limit; limit < 64 << 20; limit += limit / share) {
            Ledger host(limit), device(limit);
            {
                const Limits tight{&host, &device, &cancel_};
                std::unique_ptr<Fragment> opened;
                Status status = engine_->open_fragment(fragment.view(), tight, &opened);
                SealReport report;
                if (status.ok() && !fragment.view().stages.empty()) status = opened->join(0).seal(&report);
                OwnedBatch batch(fragment.source(), 0, fragment.source().rows());
                std::unique_ptr<Cursor> cursor;
                if (status.ok()) status = opened->run(batch.view(), &cursor);
                SinkMemory memory(1 << 20);
                ResultBatch result;
                Came came;
                while (status.ok() && !result.done) {
                    status = cursor->next(memory.sink(), &result);
                    if (!status.ok() || result.rows == 0) continue;
                    for (const Values& group : read_values(fragment.columns(), memory.data(), result))
                        fragment.combine(group, &came.groups);
                    came.partial_groups += result.rows;
                }
                if (!status.ok()) {
                    EXPECT_STREQ(status.sqlstate, "53200");
                    failed = true;
                } else {
                    cursor.reset();
                    ASSERT_OK(opened->flush(&cursor));
                    drain_groups(*cursor, fragment, 1 << 20, &came);
                    expect_same_groups(fragment, came, std::to_string(limit) + " bytes");
                    least = std::min(least, came.partial_groups);
                    most = std::max(most, came.partial_groups);
                }
            }
            EXPECT_EQ(host.used() + device.used(), 0u);
            EXPECT_LE(std::max(host.peak(), device.peak()), limit);
        }
        EXPECT_EQ(failed, GetParam().ends_with("cuda"));  // the CPU engine does with what it need not ask for
        if (comes_early) *comes_early = least < most;
    }

    // Every aggregate of an input of integers, and of one that is added to another.
    static void aggregate_integers(TestGroups& fragment, uint16_t input, uint16_t other) {
        const uint16_t value = fragment.value_of_input(input);
        FilterProgram program;
        ProgramWriter(program).probe(Opcode::Load, other).constant(Opcode::Less, int64_t{10});
        const uint16_t filter = fragment.value(program);
        ProgramWriter(program).probe(Opcode::Load, input).probe(Opcode::Add, other);
        const uint16_t sum = fragment.value(program);
        fragment.aggregate(Function::Count)
            .aggregate(Function::Count, value)
            .aggregate(Function::Count, filter)
            .aggregate(Function::Count, kNoNumber, filter)
            .aggregate(Function::Sum, value)
            .aggregate(Function::Sum, sum, filter)
            .aggregate(Function::Minimum, value)
            .aggregate(Function::Maximum, sum)
            .aggregate(Function::Maximum, value, filter)
            .aggregate(Function::Any, other);
    }
};

}  // namespace gpujoin::test
