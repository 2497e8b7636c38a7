// Fragments for tests: built step by step over tables, run on an engine, and written once more as plainly as
// can be: what rows come out of the last stage.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/fragment.h"
#include "engine_harness.h"
#include "engine_tables.h"
#include "filter_programs.h"

namespace gpujoin::test {

inline ColumnPlan integers(uint64_t distinct, double null_share = 0.05) {
    return {fixed_column(ColumnType::Fixed4), distinct, false, null_share};
}

inline ColumnPlan texts(uint64_t distinct, double null_share = 0.05) {
    return {bytes_column(), distinct, true, null_share};
}

inline Table make_table(const std::vector<ColumnPlan>& plans, uint64_t rows, uint64_t seed) {
    Random random(seed);
    Table table;
    for (const ColumnPlan& plan : plans) table.columns.push_back(make_column(plan, rows, random));
    return table;
}

// A build side whose keys are as the plans say, with a column to tell rows by.
inline Table make_build(const std::vector<ColumnPlan>& plans, uint64_t rows, uint64_t seed) {
    Table table = make_table(plans, rows, seed);
    table.columns.push_back(number_column(rows));
    return table;
}

class TestFragment {
  public:
    explicit TestFragment(Table source) : source_(std::move(source)) {
        spec_->source_columns = static_cast<uint16_t>(source_.columns.size());
        for (size_t i = 0; i < source_.columns.size(); i++) spec_->source[i] = source_.columns[i].spec;
    }

    static ColumnRef of_source(uint16_t column) { return {kFromSource, column}; }

    // Adds a stage: refs[i] = build column i for each of the refs. All build columns are put out.
    TestFragment& join(JoinKind kind, Table build, const std::vector<ColumnRef>& refs,
                       Algorithm algorithm = Algorithm::Auto) {
        StageSpec& stage = stages_.emplace_back();
        stage = {};
        JoinSpec& spec = stage.join;
        Table probe;
        for (ColumnRef ref : refs) probe.columns.push_back({column_of(view(), ref), {}});
        spec = make_spec(kind, algorithm, probe, build);
        for (uint16_t i = 0; i < refs.size(); i++) {
            stage.probe[i] = refs[i];
            add_equality(spec, i, i);
        }
        builds_.push_back(std::move(build));
        return *this;
    }
    TestFragment& input(ColumnRef ref) {
        spec_->input[spec_->inputs++] = ref;
        return *this;
    }
    TestFragment& key(uint16_t number) {
        spec_->sink = SinkKind::Groups;
        spec_->key[spec_->keys++] = number;
        return *this;
    }
    // Returns the number of a new program.
    uint16_t value(const FilterProgram& program) {
        spec_->value[spec_->values] = program;
        return spec_->values++;
    }
    // A program that is an input alone.
    uint16_t value_of_input(uint16_t number, FilterType type = FilterType::Int64) {
        FilterProgram program;
        ProgramWriter(program).probe(FilterOpcode::Load, number, type);
        return value(program);
    }
    TestFragment& aggregate(AggregateFunction function, uint16_t value = kNoNumber,
                            uint16_t filter = kNoNumber) {
        spec_->sink = SinkKind::Groups;
        spec_->aggregate[spec_->aggregates++] = {function, 0, value, filter};
        return *this;
    }

    FragmentView view() const { return {spec_.get(), stages_}; }
    FragmentSpec& spec() { return *spec_; }
    StageSpec& stage(size_t number) { return stages_[number]; }
    const Table& source() const { return source_; }
    const Table& build(size_t stage) const { return builds_[stage]; }

    // A row of the last stage: its source row, and a build row of each stage or -1.
    using Row = std::vector<int64_t>;
    std::vector<Row> rows() const;
    const Value& value_at(const Row& row, ColumnRef ref) const {
        static const Value null;
        if (ref.origin == kFromSource) return source_.columns[ref.column].values[static_cast<size_t>(row[0])];
        const int64_t of_stage = row[ref.origin + 1u];
        const JoinSpec& join = stages_[ref.origin].join;
        return of_stage < 0 ? null
                            : builds_[ref.origin]
                                  .columns[join.output[ref.column]]
                                  .values[static_cast<size_t>(of_stage)];
    }

    // A spec whose outputs are columns: what readers of results go by.
    static JoinSpec reading(const std::vector<ColumnSpec>& columns) {
        JoinSpec spec{};
        spec.outputs = spec.build_columns = static_cast<uint16_t>(columns.size());
        for (uint16_t i = 0; i < columns.size(); i++) {
            spec.build[i] = columns[i];
            spec.output[i] = i;
        }
        return spec;
    }
    std::vector<ColumnSpec> input_columns() const {
        std::vector<ColumnSpec> columns;
        for (uint32_t i = 0; i < spec_->inputs; i++) columns.push_back(column_of(view(), spec_->input[i]));
        return columns;
    }

  private:
    std::vector<Row> joined(const std::vector<Row>& rows, size_t stage) const;

    Table source_;
    std::unique_ptr<FragmentSpec> spec_ = std::make_unique<FragmentSpec>();
    std::vector<StageSpec> stages_;
    std::deque<Table> builds_;
};

inline std::vector<TestFragment::Row> TestFragment::joined(const std::vector<Row>& rows, size_t stage) const {
    const JoinSpec& spec = stages_[stage].join;
    const Table& build = builds_[stage];
    std::map<std::vector<Value>, std::vector<int64_t>> lookup;
    for (uint64_t row = 0; row < build.rows(); row++) {
        std::vector<Value> key;
        bool any_null = false;
        for (uint32_t i = 0; i < spec.equalities; i++) {
            key.push_back(build.columns[i].values[row]);
            any_null |= !key.back();
        }
        if (!any_null) lookup[key].push_back(static_cast<int64_t>(row));
    }
    std::vector<Row> out;
    for (const Row& row : rows) {
        std::vector<Value> key;
        for (uint32_t i = 0; i < spec.equalities; i++) key.push_back(value_at(row, stages_[stage].probe[i]));
        const auto found = lookup.find(key);
        auto add = [&](int64_t build_row) {
            out.push_back(row);
            out.back().push_back(build_row);
        };
        const bool pairs = spec.kind == JoinKind::Inner || spec.kind == JoinKind::Left;
        if (found == lookup.end()) {
            if (spec.kind == JoinKind::Left || spec.kind == JoinKind::Anti) add(-1);
        } else if (pairs) {
            for (int64_t build_row : found->second) add(build_row);
        } else if (spec.kind == JoinKind::Semi) {
            add(-1);
        }
    }
    return out;
}

inline std::vector<TestFragment::Row> TestFragment::rows() const {
    std::vector<Row> rows;
    for (uint64_t i = 0; i < source_.rows(); i++) rows.push_back({static_cast<int64_t>(i)});
    for (size_t stage = 0; stage < stages_.size(); stage++) rows = joined(rows, stage);
    return rows;
}

// The source row that results name: none where there is no stage.
inline int64_t named_row(const TestFragment& fragment, const TestFragment::Row& row) {
    return fragment.view().stages.empty() ? -1 : row[0];
}

// The rows of a sink of rows, sorted.
inline std::vector<ResultRow> expected_rows(const TestFragment& fragment) {
    std::vector<ResultRow> rows;
    for (const TestFragment::Row& row : fragment.rows()) {
        ResultRow& result = rows.emplace_back(ResultRow{named_row(fragment, row), {}});
        for (uint32_t i = 0; i < fragment.view().spec->inputs; i++)
            result.values.push_back(fragment.value_at(row, fragment.view().spec->input[i]));
    }
    std::sort(rows.begin(), rows.end());
    return rows;
}

// Opens a fragment and gives it its build sides.
inline void open_fragment(Engine& engine, const TestFragment& fragment, const Limits& limits,
                          std::unique_ptr<Fragment>* opened, uint64_t build_batch = 700) {
    ASSERT_OK(validate(fragment.view()));
    ASSERT_OK(engine.open_fragment(fragment.view(), limits, opened));
    for (uint32_t i = 0; i < fragment.view().stages.size(); i++) {
        append_all((*opened)->join(i), fragment.build(i), build_batch);
        SealReport report;
        ASSERT_OK((*opened)->join(i).seal(&report));
    }
}

// Runs the source through an open fragment with rows; they come back sorted.
inline void run_rows(Fragment& opened, const TestFragment& fragment, const Pacing& pacing,
                     std::vector<ResultRow>* rows) {
    const JoinSpec reading = TestFragment::reading(fragment.input_columns());
    const Table& source = fragment.source();
    for (uint64_t first = 0; first < source.rows(); first += pacing.probe_batch) {
        OwnedBatch batch(source, first, std::min(pacing.probe_batch, source.rows() - first));
        std::unique_ptr<Cursor> cursor;
        ASSERT_OK(opened.run(batch.view(), &cursor));
        drain(*cursor, reading, pacing.sink_bytes, first, rows);
        if (testing::Test::HasFatalFailure()) return;
    }
    std::sort(rows->begin(), rows->end());
}

// The same by four threads, each with a quarter of the source.
inline void run_rows_in_threads(Fragment& opened, const TestFragment& fragment, uint64_t batch_rows,
                                std::vector<ResultRow>* all) {
    const JoinSpec reading = TestFragment::reading(fragment.input_columns());
    const uint64_t quarter = fragment.source().rows() / 4;
    std::vector<ResultRow> rows[4];
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < 4; t++)
        threads.emplace_back([&, t] {
            for (uint64_t first = t * quarter; first < (t + 1) * quarter; first += batch_rows) {
                OwnedBatch batch(fragment.source(), first, batch_rows);
                std::unique_ptr<Cursor> cursor;
                EXPECT_OK(opened.run(batch.view(), &cursor));
                drain(*cursor, reading, 20'000, first, &rows[t]);
            }
        });
    for (std::thread& thread : threads) thread.join();
    for (auto& part : rows) all->insert(all->end(), part.begin(), part.end());
    std::sort(all->begin(), all->end());
}

// The rows that a fragment gives where its joins and itself may take so much memory, or its failure.
inline Status run_within(Engine& engine, const TestFragment& fragment, Ledger* host, Ledger* device,
                         const std::atomic<bool>* cancel, std::vector<ResultRow>* rows) {
    std::unique_ptr<Fragment> opened;
    GPUJOIN_RETURN_IF_FAILED(engine.open_fragment(fragment.view(), {host, device, cancel}, &opened));
    for (uint32_t i = 0; i < fragment.view().stages.size(); i++) {
        OwnedBatch build(fragment.build(i), 0, fragment.build(i).rows());
        SealReport report;
        GPUJOIN_RETURN_IF_FAILED(opened->join(i).append(build.view(), 0));
        GPUJOIN_RETURN_IF_FAILED(opened->join(i).seal(&report));
    }
    OwnedBatch batch(fragment.source(), 0, fragment.source().rows());
    std::unique_ptr<Cursor> cursor;
    GPUJOIN_RETURN_IF_FAILED(opened->run(batch.view(), &cursor));
    SinkMemory memory(1 << 20);
    const JoinSpec reading = TestFragment::reading(fragment.input_columns());
    for (ResultBatch result; !result.done;) {
        GPUJOIN_RETURN_IF_FAILED(cursor->next(memory.sink(), &result));
        read_result(reading, memory.data(), result, 0, rows);
    }
    std::sort(rows->begin(), rows->end());
    return {};
}

// Whatever the limit, a fragment either works or says 53200, and all is given back. What was enough is enough
// for all the more memory, since what one step does not take is left to another.
inline void expect_enough_from_somewhere(Engine& engine, const TestFragment& fragment,
                                         const std::atomic<bool>* cancel, uint64_t most) {
    const auto expected = expected_rows(fragment);
    bool failed = false, worked = false;
    for (uint64_t limit = 64 << 10; limit < most; limit += limit / 8) {
        Ledger host(limit), device(limit);
        std::vector<ResultRow> rows;
        const Status status = run_within(engine, fragment, &host, &device, cancel, &rows);
        if (status.ok()) {
            worked = true;
            expect_same(expected, rows, std::to_string(limit) + " bytes");
        } else {
            failed = true;
            EXPECT_STREQ(status.sqlstate, "53200");
            EXPECT_FALSE(worked) << limit << " bytes are too little where less was enough: " << status.detail;
        }
        EXPECT_EQ(host.used() + device.used(), 0u);
    }
    EXPECT_TRUE(failed && worked);
}

// Whose fragments give what the reference gives.
class FragmentTest : public EngineTest {
  protected:
    void expect_rows(const TestFragment& fragment, const Pacing& pacing, const std::string& what) {
        std::unique_ptr<Fragment> opened;
        open_fragment(*engine_, fragment, limits(), &opened);
        if (HasFatalFailure()) return;
        std::vector<ResultRow> rows;
        run_rows(*opened, fragment, pacing, &rows);
        if (HasFatalFailure()) return;
        expect_same(expected_rows(fragment), rows, what);
        EXPECT_EQ(opened->sink_stats().rows, rows.size()) << what;
    }
};

}  // namespace gpujoin::test
