// The fake engine's joins and fragments: rows as vectors of optional strings.
#include "server_fake_engine.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "engine/fragment.h"
#include "engine/kept/kept_view.h"
#include "engine/row_numbers.h"
#include "engine/turn.h"

namespace gpujoin::test {

namespace {

using Cell = std::optional<std::string>;
using Row = std::vector<Cell>;

std::vector<Row> read_rows(const BatchView& batch, const ColumnSpec* specs) {
    std::vector<Row> rows(batch.rows, Row(batch.columns.size()));
    for (uint64_t r = 0; r < batch.rows; r++) {
        for (size_t c = 0; c < batch.columns.size(); c++) {
            const ColumnView& column = batch.columns[c];
            if (!column.is_valid(r)) continue;
            uint32_t width = fixed_width(specs[c].type);
            const std::byte* value = width > 0 ? column.values + r * width : column.data + column.offsets[r];
            size_t bytes = width > 0 ? width : column.offsets[r + 1] - column.offsets[r];
            rows[r][c].emplace(reinterpret_cast<const char*>(value), bytes);
        }
    }
    return rows;
}

class FakeJoin;

struct Outputs {
    std::vector<ColumnSpec> columns;
    bool name_build_rows = false;
    bool are_undecided = false;
};

// Rows that wait to be given out: a probe row number (or kNoProbeRow), a build row number, and cells, which
// are the build side's or the cursor's own.
class FakeCursor : public Cursor {
  public:
    FakeCursor(FakeJoin* join, Outputs outputs, std::vector<Row> own_rows = {});
    ~FakeCursor() override;
    void add(uint32_t probe_row, uint64_t build_row, const std::vector<const Cell*>& cells);
    void set_batch(uint64_t rows) { batch_rows_ = rows; }
    const std::vector<Row>& own_rows() const { return own_rows_; }
    Status next(const Sink& sink, ResultBatch* result) override;
    void skip(uint32_t probe_row) override { first_wanted_ = uint64_t{probe_row} + 1; }

  private:
    struct Pair {
        uint32_t probe_row;
        uint64_t build_row;
        std::vector<const Cell*> cells;
    };
    bool is_busy() const;
    uint64_t bytes_of(std::span<const Pair> pairs) const;
    void write(std::span<const Pair> pairs, const Sink& sink, ResultBatch* result) const;

    FakeJoin* const join_;
    const Outputs outputs_;
    const std::vector<Row> own_rows_;
    uint64_t batch_rows_ = 0;
    std::vector<Pair> pairs_;
    size_t position_ = 0;
    uint64_t first_wanted_ = 0;
};

class FakeJoin : public Join {
  public:
    FakeJoin(const JoinSpec& spec, const Limits& limits, FakeControls* controls, bool is_on_device)
        : spec_(spec), limits_(limits), controls_(controls), is_on_device_(is_on_device) {
        controls_->joins++;
    }
    ~FakeJoin() override {
        hang(FakeControls::Destroy, [] { return false; });
        limits_.host_memory->release(charged_);
        controls_->joins--;
    }

    Status append(const BatchView& batch, uint64_t first_row) override {
        GPUJOIN_RETURN_IF_FAILED(interfere(FakeControls::Append));
        if (batch.memory == Memory::Device && !is_on_device_)
            return failure(Fault::Error, "XX000", "a batch on a device cannot be read");
        std::vector<Row> rows = read_rows(batch, spec_.build);
        uint64_t bytes = 0;
        for (const Row& row : rows)
            for (const Cell& cell : row) bytes += 8 + (cell ? cell->size() : 0);
        if (!limits_.host_memory->charge(bytes)) return failure(Fault::HostMemory, "53200", "no memory");
        std::lock_guard lock(mutex_);
        charged_ += bytes;
        if (rows.empty()) return {};
        build_.resize(std::max(build_.size(), first_row + rows.size()));
        matched_.resize(build_.size());
        std::ranges::move(rows, build_.begin() + static_cast<ptrdiff_t>(first_row));
        runs_.push_back({first_row, rows.size(), first_row});
        return {};
    }

    Status seal(SealReport* report) override {
        GPUJOIN_RETURN_IF_FAILED(interfere(FakeControls::Seal));
        GPUJOIN_RETURN_IF_FAILED(order_runs(&runs_));
        *report = SealReport{Algorithm::NestedLoop, ResultOrder::Ascending, {}, build_.size()};
        return {};
    }

    Status probe(const BatchView& batch, std::unique_ptr<Cursor>* cursor) override {
        GPUJOIN_RETURN_IF_FAILED(interfere(FakeControls::Probe));
        auto made = std::make_unique<FakeCursor>(this, outputs());
        made->set_batch(batch.rows);
        std::vector<Row> rows = read_rows(batch, spec_.probe);
        std::lock_guard lock(mutex_);
        for (uint32_t p = 0; p < rows.size() && !*limits_.cancel; p++) {
            for (uint64_t b : matches_of(rows[p])) {
                if (!spec_.client_decides) matched_[b] = true;
                made->add(p, b, cells_of(b));
            }
        }
        *cursor = std::move(made);
        return cancelled();
    }

    Status mark_matched(std::span<const uint64_t> build_rows) override {
        std::lock_guard lock(mutex_);
        for (uint64_t row : build_rows) matched_.at(row) = true;
        return {};
    }

    Status scan_build(bool matched, std::unique_ptr<Cursor>* cursor) override {
        auto made = std::make_unique<FakeCursor>(this, outputs());
        for (uint64_t row = 0; row < build_.size(); row++)
            if (matched_[row] == matched) made->add(kNoProbeRow, row, cells_of(row));
        *cursor = std::move(made);
        return {};
    }

    Status rewind() override {
        matched_.assign(build_.size(), false);
        return cursors_ == 0 ? Status{} : failure(Fault::Error, "XX000", "cursors are left");
    }

    Status export_build(const BuildConsumer& consumer) override;

    JoinStats stats() const override {
        JoinStats stats{};
        stats.build_rows = build_.size();
        return stats;
    }

    bool matches(const Row& probe, const Row& build) const {
        for (uint16_t i = 0; i < spec_.equalities; i++) {
            const Cell& left = probe[spec_.equality[i].probe_column];
            const Cell& right = build[spec_.equality[i].build_column];
            if (!left || !right || *left != *right) return false;
        }
        return true;
    }

    std::vector<uint64_t> matches_of(const Row& probe) const {
        std::vector<uint64_t> rows;
        for (uint64_t b = 0; b < build_.size(); b++)
            if (matches(probe, build_[b])) rows.push_back(b);
        return rows;
    }

    Outputs outputs() const {
        Outputs outputs{.columns = {}, .name_build_rows = spec_.client_decides != 0};
        for (uint16_t i = 0; i < spec_.outputs; i++) outputs.columns.push_back(spec_.build[spec_.output[i]]);
        return outputs;
    }

    std::vector<const Cell*> cells_of(uint64_t row) const {
        std::vector<const Cell*> cells;
        for (uint16_t i = 0; i < spec_.outputs; i++) cells.push_back(&build_[row][spec_.output[i]]);
        return cells;
    }

    Status export_row(uint64_t number, const BuildConsumer& consumer) const;

    Status interfere(FakeControls::Call call) {
        if (int left = controls_->fail_in[call]; left > 0 && controls_->fail_in[call].fetch_sub(1) == 1)
            return failure(controls_->fault, "53200", "told to fail");
        return hang(call, [this] { return limits_.cancel->load(); }) ? cancelled() : Status{};
    }

    template <typename IsOver>
    bool hang(FakeControls::Call call, const IsOver& is_over) {
        if (controls_->hang_in != call) return false;
        controls_->hanging++;
        while (controls_->hang_in == call && !is_over())
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        controls_->hanging--;
        return true;
    }

    Status cancelled() const {
        return *limits_.cancel ? failure(Fault::Cancelled, "57014", "cancelled") : Status{};
    }

    const JoinSpec spec_;
    const Limits limits_;
    FakeControls* const controls_;
    const bool is_on_device_;
    std::mutex mutex_;
    std::vector<Row> build_;  // by their numbers
    std::vector<RowRun> runs_;
    std::vector<bool> matched_;
    std::atomic<int> cursors_{0};
    uint64_t charged_ = 0;
};

FakeCursor::FakeCursor(FakeJoin* join, Outputs outputs, std::vector<Row> own_rows)
    : join_(join), outputs_(std::move(outputs)), own_rows_(std::move(own_rows)) {
    join_->controls_->cursors++;
    join_->cursors_++;
}

void FakeCursor::add(uint32_t probe_row, uint64_t build_row, const std::vector<const Cell*>& cells) {
    pairs_.push_back({probe_row, build_row, cells});
}

FakeCursor::~FakeCursor() {
    join_->controls_->cursors--;
    join_->cursors_--;
}

bool FakeCursor::is_busy() const {
    return batch_rows_ > 0 && batch_rows_ >= join_->controls_->busy_from && !*join_->limits_.cancel;
}

uint64_t FakeCursor::bytes_of(std::span<const Pair> pairs) const {
    uint64_t bytes = align_buffer(pairs.size() * 4) + align_buffer(pairs.size() * 8);
    for (size_t i = 0; i < outputs_.columns.size(); i++) {
        uint32_t width = fixed_width(outputs_.columns[i].type);
        uint64_t data = 0;
        if (width == 0)
            for (const Pair& pair : pairs)
                if (const Cell& cell = *pair.cells[i]) data += cell->size();
        bytes += align_buffer(validity_bytes(pairs.size())) + align_buffer(data) +
                 align_buffer(width > 0 ? pairs.size() * width : (pairs.size() + 1) * 4);
    }
    return bytes;
}

void FakeCursor::write(std::span<const Pair> pairs, const Sink& sink, ResultBatch* result) const {
    memset(sink.memory, 0, bytes_of(pairs));
    auto take = [&](uint64_t bytes) {
        uint64_t start = result->bytes;
        result->bytes += align_buffer(bytes);
        return start;
    };
    result->rows = static_cast<uint32_t>(pairs.size());
    result->undecided = outputs_.are_undecided;
    if (pairs.front().probe_row != kNoProbeRow) result->probe_rows = take(pairs.size() * 4);
    if (outputs_.name_build_rows) result->build_rows = take(pairs.size() * 8);
    for (size_t r = 0; r < pairs.size(); r++) {
        if (result->probe_rows != kNoBuffer)
            memcpy(sink.memory + result->probe_rows + r * 4, &pairs[r].probe_row, 4);
        if (result->build_rows != kNoBuffer)
            memcpy(sink.memory + result->build_rows + r * 8, &pairs[r].build_row, 8);
    }
    for (size_t i = 0; i < outputs_.columns.size(); i++) {
        uint32_t width = fixed_width(outputs_.columns[i].type);
        ColumnBuffers buffers;
        buffers.validity = take(validity_bytes(pairs.size()));
        buffers.values = take(width > 0 ? pairs.size() * width : (pairs.size() + 1) * 4);
        uint64_t data = 0;
        if (width == 0) buffers.data = result->bytes;
        for (size_t r = 0; r < pairs.size(); r++) {
            const Cell& cell = *pairs[r].cells[i];
            if (cell) sink.memory[buffers.validity + r / 8] |= std::byte(1 << (r % 8));
            if (cell && width > 0) memcpy(sink.memory + buffers.values + r * width, cell->data(), width);
            if (width > 0) continue;
            if (cell) memcpy(sink.memory + buffers.data + data, cell->data(), cell->size());
            data += cell ? cell->size() : 0;
            auto offset = static_cast<uint32_t>(data);
            memcpy(sink.memory + buffers.values + (r + 1) * 4, &offset, 4);
        }
        if (width == 0) take(buffers.data_bytes = data);
        result->columns.push_back(buffers);
    }
}

Status FakeCursor::next(const Sink& sink, ResultBatch* result) {
    GPUJOIN_RETURN_IF_FAILED(join_->interfere(FakeControls::Next));
    if (is_busy()) {
        join_->controls_->turns++;
        while (is_busy() && !turn_is_over()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return join_->cancelled();
    }
    while (position_ < pairs_.size() && pairs_[position_].probe_row < first_wanted_) position_++;
    std::span<const Pair> rest = std::span(pairs_).subspan(position_);
    size_t fits = rest.size();
    while (fits > 1 && bytes_of(rest.first(fits)) > sink.bytes) fits /= 2;
    if (fits > 0 && bytes_of(rest.first(fits)) > sink.bytes) {
        result->bytes_needed = bytes_of(rest.first(fits));
        return {};
    }
    if (fits > 0) write(rest.first(fits), sink, result);
    position_ += fits;
    result->done = position_ == pairs_.size();
    return {};
}

Status FakeJoin::export_build(const BuildConsumer& consumer) {
    GPUJOIN_RETURN_IF_FAILED(interfere(FakeControls::Export));
    for (const RowRun& run : runs_)
        for (uint64_t i = 0; i < run.rows; i++)
            GPUJOIN_RETURN_IF_FAILED(export_row(run.first_row + i, consumer));
    return {};
}

Status FakeJoin::export_row(uint64_t number, const BuildConsumer& consumer) const {
    const Row& row = build_[number];
    std::vector<ColumnView> columns(row.size());
    std::vector<std::array<uint32_t, 2>> offsets(row.size());
    static constexpr uint8_t kNull = 0;
    static constexpr std::byte kZeros[16]{};
    for (size_t c = 0; c < row.size(); c++) {
        static const std::string kEmpty;
        const std::string& value = row[c] ? *row[c] : kEmpty;
        offsets[c] = {0, static_cast<uint32_t>(row[c] ? row[c]->size() : 0)};
        if (!row[c]) columns[c].validity = &kNull;
        columns[c].values = row[c] ? reinterpret_cast<const std::byte*>(value.data()) : kZeros;
        columns[c].data = columns[c].values;
        columns[c].data_bytes = offsets[c][1];
        columns[c].offsets = offsets[c].data();
    }
    return consumer(BatchView{1, columns, Memory::Host}, number);
}

// Where it has groups it counts their rows, whatever the aggregates are; rows whose first key is NULL escape.
class FakeFragment : public Fragment {
  public:
    FakeFragment(const FragmentView& fragment, std::vector<std::unique_ptr<FakeJoin>> joins)
        : joins_(std::move(joins)),
          stages_(fragment.stages.begin(), fragment.stages.end()),
          is_plain_(fragment.is_plain_join()),
          has_groups_(fragment.spec->sink == SinkKind::Groups),
          source_(fragment.spec->source, fragment.spec->source + fragment.spec->source_columns),
          inputs_(fragment.spec->input, fragment.spec->input + fragment.spec->inputs),
          keys_(fragment.spec->key, fragment.spec->key + fragment.spec->keys) {
        for (ColumnRef ref : inputs_) input_columns_.push_back(column_of(fragment, ref));
        for (uint32_t i = 0; has_groups_ && i < group_columns(*fragment.spec); i++)
            group_columns_.push_back(group_column(fragment, i));
    }

    Join& join(uint32_t stage) override { return *joins_[stage]; }
    Status run(const BatchView& source, std::unique_ptr<Cursor>* cursor) override;
    Status flush(std::unique_ptr<Cursor>* cursor) override;
    Status rewind() override {
        groups_.clear();
        for (const auto& join : joins_) GPUJOIN_RETURN_IF_FAILED(join->rewind());
        return {};
    }
    SinkStats sink_stats() const override {
        SinkStats stats{};
        stats.rows = rows_;
        return stats;
    }

  private:
    using Values =
        std::vector<std::vector<const Cell*>>;  // of a row: each stage's outputs, then the source's

    const Cell* value_of(const Values& values, ColumnRef ref) const {
        return (ref.origin == kFromSource ? values.back() : values[ref.origin])[ref.column];
    }
    void expand(size_t stage, uint32_t source_row, Values* values, FakeCursor* cursor);
    void sink(uint32_t source_row, const Values& values, FakeCursor* cursor);

    const std::vector<std::unique_ptr<FakeJoin>> joins_;
    const std::vector<StageSpec> stages_;
    const bool is_plain_;
    const bool has_groups_;
    const std::vector<ColumnSpec> source_;
    const std::vector<ColumnRef> inputs_;
    const std::vector<uint16_t> keys_;
    std::vector<ColumnSpec> input_columns_;
    std::vector<ColumnSpec> group_columns_;
    std::mutex mutex_;
    std::map<Row, int64_t> groups_;
    std::atomic<uint64_t> rows_{0};
};

Status FakeFragment::run(const BatchView& source, std::unique_ptr<Cursor>* cursor) {
    if (is_plain_) return joins_[0]->probe(source, cursor);
    GPUJOIN_RETURN_IF_FAILED(joins_[0]->interfere(FakeControls::Probe));
    Outputs outputs{.columns = input_columns_, .are_undecided = has_groups_};
    auto made = std::make_unique<FakeCursor>(joins_[0].get(), outputs, read_rows(source, source_.data()));
    made->set_batch(source.rows);
    Values values(stages_.size() + 1);
    for (uint32_t row = 0; row < source.rows; row++) {
        values.back().clear();
        for (const Cell& cell : made->own_rows()[row]) values.back().push_back(&cell);
        expand(0, row, &values, made.get());
    }
    *cursor = std::move(made);
    return joins_[0]->cancelled();
}

void FakeFragment::expand(size_t stage, uint32_t source_row, Values* values, FakeCursor* cursor) {
    if (stage == stages_.size()) return sink(source_row, *values, cursor);
    Row probe;
    for (uint16_t i = 0; i < stages_[stage].join.probe_columns; i++)
        probe.push_back(*value_of(*values, stages_[stage].probe[i]));
    for (uint64_t match : joins_[stage]->matches_of(probe)) {
        (*values)[stage] = joins_[stage]->cells_of(match);
        expand(stage + 1, source_row, values, cursor);
    }
}

void FakeFragment::sink(uint32_t source_row, const Values& values, FakeCursor* cursor) {
    std::vector<const Cell*> inputs;
    for (ColumnRef ref : inputs_) inputs.push_back(value_of(values, ref));
    rows_++;
    if (!has_groups_) return cursor->add(source_row, kNoBuildRow, inputs);
    if (!*inputs[keys_[0]]) return cursor->add(kNoProbeRow, kNoBuildRow, inputs);
    Row group;
    for (uint16_t key : keys_) group.push_back(*inputs[key]);
    std::lock_guard lock(mutex_);
    groups_[group]++;
}

Status FakeFragment::flush(std::unique_ptr<Cursor>* cursor) {
    std::vector<Row> rows;
    for (const auto& [group, count] : groups_) {
        Row row = group;
        row.resize(group_columns_.size(), std::string(reinterpret_cast<const char*>(&count), sizeof count));
        rows.push_back(row);
    }
    groups_.clear();
    auto made = std::make_unique<FakeCursor>(joins_[0].get(), Outputs{.columns = group_columns_}, rows);
    for (const Row& row : made->own_rows()) {
        std::vector<const Cell*> cells;
        for (const Cell& cell : row) cells.push_back(&cell);
        made->add(kNoProbeRow, kNoBuildRow, cells);
    }
    *cursor = std::move(made);
    return {};
}

// Says of batches of one row that they are on the device.
class FakeKeptReader final : public KeptBuildReader {
  public:
    FakeKeptReader(const KeptScan& scan, KeptPosition& position, std::span<const ColumnSpec> build,
                   Ledger* ledger)
        : scan_(scan), position_(position), rows_(scan, nothing_, build, kTargetBatchRows, ledger) {
        nothing_.next_row = scan.rows();
    }
    Status next(BatchView* batch) override {
        for (;;) {
            GPUJOIN_RETURN_IF_FAILED(rows_.next(batch));
            batch->memory = has_left_device_ ? Memory::Host : Memory::Device;
            if (batch->rows > 0) return {};
            row_ = position_.next_row.fetch_add(1);
            if (row_ >= scan_.rows()) return {};
            rows_.read_first(row_, row_ + 1);
        }
    }
    bool has_begun() const override { return rows_.has_begun(); }
    void leave_device(bool again) override {
        has_left_device_ = true;
        if (again) rows_.read_first(row_, row_ + 1);
    }

  private:
    const KeptScan& scan_;
    KeptPosition& position_;
    KeptPosition nothing_;
    KeptRows rows_;
    uint64_t row_ = 0;
    bool has_left_device_ = false;
};

class FakeEngine : public Engine {
  public:
    FakeEngine(int number, FakeControls* controls, uint64_t join_memory)
        : number_(number), controls_(controls), join_memory_(join_memory) {}

    Status open(const JoinSpec& spec, const Limits& limits, std::unique_ptr<Join>* join) override {
        std::unique_ptr<FakeJoin> made;
        GPUJOIN_RETURN_IF_FAILED(make(spec, limits, &made));
        *join = std::move(made);
        return {};
    }
    Status open_fragment(const FragmentView& fragment, const Limits& limits,
                         std::unique_ptr<Fragment>* opened) override {
        std::vector<std::unique_ptr<FakeJoin>> joins(fragment.stages.size());
        for (size_t i = 0; i < joins.size(); i++)
            GPUJOIN_RETURN_IF_FAILED(make(fragment.stages[i].join, limits, &joins[i]));
        *opened = std::make_unique<FakeFragment>(fragment, std::move(joins));
        return {};
    }
    KeptMeasure kept_build_measure(const Limits&) const override { return {4, 1}; }
    std::unique_ptr<KeptBuildReader> read_kept_build(const KeptScan& scan, KeptPosition& position,
                                                     std::span<const ColumnSpec> build, uint32_t most_rows,
                                                     const Limits& limits) override {
        if (number_ < 0) return Engine::read_kept_build(scan, position, build, most_rows, limits);
        return std::make_unique<FakeKeptReader>(scan, position, build, limits.host_memory);
    }
    Status pin(std::byte*, uint64_t) override { return {}; }
    DeviceDescription describe() const override {
        const char* engine = number_ < 0 ? "cpu" : "cuda";
        return {engine, "fake", number_, 1u << 30, 1u << 30, 0, 1, "ready", join_memory_};
    }

  private:
    Status make(const JoinSpec& spec, const Limits& limits, std::unique_ptr<FakeJoin>* join) {
        auto made = std::make_unique<FakeJoin>(spec, limits, controls_, number_ >= 0);
        GPUJOIN_RETURN_IF_FAILED(made->interfere(FakeControls::Open));
        *join = std::move(made);
        return {};
    }

    const int number_;
    FakeControls* const controls_;
    const uint64_t join_memory_;
};

}  // namespace

std::unique_ptr<Engine> make_fake_engine(int number, FakeControls* controls, uint64_t join_memory) {
    return std::make_unique<FakeEngine>(number, controls, join_memory);
}

}  // namespace gpujoin::test
