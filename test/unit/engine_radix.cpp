// Conformance of the radix joins, which engines use for large sides only, at the sizes where code tends to
// break and with the keys that do: here a build side is partitioned from its first row on.
#include <functional>

#include "cuda_radix_engine.h"
#include "engine/cpu/radix/radix_join.h"
#include "engine/key_layout.h"
#include "engine_harness.h"
#include "engine_keys.h"

namespace gpujoin::test {
namespace {

// The CPU engine's radix join by itself.
class CpuRadixJoin final : public Join {
  public:
    Status open(const JoinSpec& spec, const Limits& limits, cpu::Workers* workers) {
        cpu::JoinContext& context = join_.context;
        context.spec = spec;
        context.limits = limits;
        context.layout = make_key_layout(spec);
        context.workers = workers;
        return context.build.open(context.spec, limits);
    }
    Status append(const BatchView& batch, uint64_t first_row) override {
        return join_.context.build.append(batch, first_row);
    }
    Status seal(SealReport* report) override {
        *report = {};
        report->algorithm = Algorithm::Hash;
        report->order = ResultOrder::Any;
        report->build_rows = join_.context.build.rows();
        GPUJOIN_RETURN_IF_FAILED(join_.context.build.seal());
        return cpu::make_radix_join(join_.context, &radix_);
    }
    Status probe(const BatchView& batch, std::unique_ptr<Cursor>* cursor) override {
        return radix_->probe(join_, batch, cursor);
    }
    Status mark_matched(std::span<const uint64_t>) override { return not_of_inner_joins(); }
    Status scan_build(bool, std::unique_ptr<Cursor>*) override { return not_of_inner_joins(); }
    Status rewind() override { return {}; }
    Status export_build(const BuildConsumer& consumer) override {
        return join_.context.build.export_rows(consumer);
    }
    JoinStats stats() const override {
        JoinStats stats{};
        stats.algorithm = Algorithm::Hash;
        return stats;
    }

  private:
    static Status not_of_inner_joins() {
        return failure(Fault::Protocol, "08P01", "inner joins mark no build rows");
    }

    cpu::SealedJoin join_;
    std::unique_ptr<cpu::RadixJoin> radix_;
};

class CpuRadixEngine final : public Engine {
  public:
    Status open(const JoinSpec& spec, const Limits& limits, std::unique_ptr<Join>* join) override {
        auto opened = std::make_unique<CpuRadixJoin>();
        GPUJOIN_RETURN_IF_FAILED(opened->open(spec, limits, &workers_));
        *join = std::move(opened);
        return {};
    }
    Status pin(std::byte*, uint64_t) override { return {}; }
    DeviceDescription describe() const override { return {}; }

  private:
    cpu::Workers workers_{2};
};

EngineUnderTest& radix_engine_named(const std::string& name) {
    static EngineUnderTest cpu{std::make_unique<CpuRadixEngine>(), ""};
    if (name == "cpu") return cpu;
#ifdef GPUJOIN_TEST_CUDA
    static EngineUnderTest cuda = [] {
        EngineUnderTest made;
        Status status = make_cuda_radix_engine(&made.engine);
        if (!status.ok()) made.reason = status.message;
        return made;
    }();
    return cuda;
#else
    return engine_named(name);  // none, and says why
#endif
}

// What is given back of either side: every column, of which results are gathered by row number; or one of so
// many bytes that rides along with its key; or nothing but the number of rows.
enum class Wanted : uint8_t { Everything, Eight, Four, BuildFour, ProbeFour, Nothing };
constexpr Wanted kWanted[] = {Wanted::Everything, Wanted::Eight,     Wanted::Four,
                              Wanted::BuildFour,  Wanted::ProbeFour, Wanted::Nothing};

class RadixJoin : public EngineTest {
  protected:
    void SetUp() override {
        EngineUnderTest& under_test = radix_engine_named(GetParam());
        if (!under_test.engine) GTEST_SKIP() << under_test.reason;
        engine_ = under_test.engine.get();
    }

    void run(const KeyCase& key, uint64_t probe_rows, uint64_t build_rows, const Pacing& pacing = {}) {
        run(key.name, make_tables(key.columns, probe_rows, build_rows, probe_rows * 31 + build_rows),
            key.columns.size(), pacing);
    }

    // Tables of which the first columns are the key; the others are put in their place.
    void run(const char* name, TablePair tables, size_t keys, const Pacing& pacing = {}) {
        SCOPED_TRACE(std::string(name) + ", " + std::to_string(tables.probe.rows()) + " x " +
                     std::to_string(tables.build.rows()) + " rows");
        for (Table* table : {&tables.probe, &tables.build}) {
            const uint64_t rows = table->rows();
            table->columns.resize(keys);
            table->columns.push_back(number_column(rows));
            table->columns.push_back(narrow_number_column(rows));
            table->columns.push_back(text_column(rows));
        }
        const auto candidates = equal_rows(tables.probe, tables.build, keys);
        for (Wanted wanted : kWanted) {
            const JoinSpec spec = spec_of(tables, static_cast<uint16_t>(keys), wanted);
            SealReport report;
            std::vector<ResultRow> actual;
            run_join(*engine_, spec, limits(), tables.probe, tables.build, pacing, &actual, &report);
            if (HasFatalFailure()) return;
            EXPECT_TRUE(report.order == ResultOrder::Any || tables.build.rows() == 0)
                << "the build side is not partitioned";
            expect_same(reference_join(spec, tables.probe, tables.build, candidates), actual,
                        "wanted " + std::to_string(static_cast<int>(wanted)));
        }
        EXPECT_EQ(host_memory_.used() + device_memory_.used(), 0u);
    }

    static JoinSpec spec_of(const TablePair& tables, uint16_t keys, Wanted wanted) {
        JoinSpec spec = make_spec(JoinKind::Inner, Algorithm::Hash, tables.probe, tables.build);
        for (uint16_t i = 0; i < keys; i++) add_equality(spec, i, i);
        carry_all(spec);
        spec.estimated_probe_rows = tables.build.rows();  // enough of them to be worth it
        if (wanted == Wanted::Everything) return spec;
        spec.outputs = spec.carried = 0;
        const auto number = static_cast<uint16_t>(wanted == Wanted::Eight ? keys : keys + 1);
        if (wanted != Wanted::ProbeFour && wanted != Wanted::Nothing) spec.output[spec.outputs++] = number;
        if (wanted != Wanted::BuildFour && wanted != Wanted::Nothing) spec.carry[spec.carried++] = number;
        return spec;
    }

    static Column narrow_number_column(uint64_t rows) {
        Column column{fixed_column(ColumnType::Fixed4, ValueOrder::Signed, false), {}};
        for (uint64_t i = 0; i < rows; i++) column.values.push_back(value_of(int32_t(i * 3)));
        return column;
    }

    // Those of the keys that are packed into at most 8 bytes, which is what is partitioned by.
    static std::vector<KeyCase> narrow_key_cases(uint64_t distinct, double nulls) {
        std::vector<KeyCase> cases = key_cases(distinct, nulls);
        std::erase_if(cases, [](const KeyCase& key) {
            uint32_t bytes = 0;
            for (const ColumnPlan& column : key.columns) {
                const uint32_t width = fixed_width(column.spec.type);
                bytes += width ? width : 16;
            }
            return bytes > 8;
        });
        return cases;
    }
};

TEST_P(RadixJoin, KeysOfEveryType) {
    for (const KeyCase& key : narrow_key_cases(40, 0.1)) run(key, 200, 100);
}

TEST_P(RadixJoin, UniqueKeysOfEveryType) {
    for (const KeyCase& key : narrow_key_cases(0, 0.0))
        run(key.name, make_unique_tables(key, 300, 200), key.columns.size());
}

TEST_P(RadixJoin, AwkwardSizes) {
    for (const KeyCase& key : narrow_key_cases(400, 0.05)) {
        if (key.columns[0].spec.type == ColumnType::Fixed2 || !key.columns[0].spread) continue;
        for (uint64_t build_rows : {0, 1, 31, 32, 33, 1000}) {
            for (uint64_t probe_rows : {0, 1, 31, 32, 33, 1000})
                run(key, probe_rows, build_rows, {.build_batch = 400, .probe_batch = 2000});
        }
    }
}

TEST_P(RadixJoin, AllKeysEqual) {
    for (const KeyCase& key : narrow_key_cases(1, 0.0)) run(key, 70, 90, {.sink_bytes = 16 << 10});
}

// On either side, and on both.
TEST_P(RadixJoin, AllKeysNull) {
    const std::vector<KeyCase> nulls = narrow_key_cases(5, 1.0), some = narrow_key_cases(5, 0.1);
    for (size_t i = 0; i < nulls.size(); i++) {
        const size_t keys = nulls[i].columns.size();
        const TablePair null = make_tables(nulls[i].columns, 50, 60, 1);
        const TablePair other = make_tables(some[i].columns, 50, 60, 2);
        run(nulls[i].name, null, keys);
        run(nulls[i].name, {null.probe, other.build}, keys);
        run(nulls[i].name, {other.probe, null.build}, keys);
    }
}

// Keys whose mixed bits are the same where a partition is chosen, or a place in its table.
TEST_P(RadixJoin, AdversarialHashes) {
    for (const CollidingKeys& keys : colliding_keys(1000)) {
        const uint32_t width = fixed_width(keys.column.spec.type);
        if (width != 4 && width != 8) continue;
        for (bool repeated : {false, true}) run(keys.name, make_colliding_tables(keys, repeated), 1);
    }
}

// Results that end anywhere, also inside a row's matches.
TEST_P(RadixJoin, TinySinks) {
    KeyCase key{"4 bytes", {{fixed_column(ColumnType::Fixed4), 10, false, 0.1}}};
    for (uint64_t bytes : {0, 64, 512, 1000}) run(key, 60, 80, {.sink_bytes = bytes});
}

GPUJOIN_FOR_EACH_ENGINE(RadixJoin);

}  // namespace
}  // namespace gpujoin::test
