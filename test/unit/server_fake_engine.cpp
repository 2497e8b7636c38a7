// The fake engine's join: rows as vectors of optional strings.
#include "server_fake_engine.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

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

// Rows that wait to be given out: a probe row number (or kNoProbeRow) and a build row number each.
class FakeCursor : public Cursor {
  public:
    FakeCursor(FakeJoin* join, std::vector<Row> probe);
    explicit FakeCursor(FakeJoin* join, std::vector<uint64_t> build_rows);
    ~FakeCursor() override;
    Status next(const Sink& sink, ResultBatch* result) override;
    void skip(uint32_t probe_row) override { first_wanted_ = uint64_t{probe_row} + 1; }

  private:
    struct Pair {
        uint32_t probe_row;
        uint64_t build_row;
    };
    bool is_busy() const;
    uint64_t bytes_of(std::span<const Pair> pairs) const;
    void write(std::span<const Pair> pairs, const Sink& sink, ResultBatch* result) const;

    FakeJoin* const join_;
    const uint64_t probe_rows_ = 0;
    std::vector<Pair> pairs_;
    size_t position_ = 0;
    uint64_t first_wanted_ = 0;
};

class FakeJoin : public Join {
  public:
    FakeJoin(const JoinSpec& spec, const Limits& limits, FakeControls* controls)
        : spec_(spec), limits_(limits), controls_(controls) {
        controls_->joins++;
    }
    ~FakeJoin() override {
        hang(FakeControls::Destroy, [] { return false; });
        limits_.host_memory->release(charged_);
        controls_->joins--;
    }

    Status append(const BatchView& batch, uint64_t first_row) override {
        GPUJOIN_RETURN_IF_FAILED(interfere(FakeControls::Append));
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
        *cursor = std::make_unique<FakeCursor>(this, read_rows(batch, spec_.probe));
        return cancelled();
    }

    Status mark_matched(std::span<const uint64_t> build_rows) override {
        std::lock_guard lock(mutex_);
        for (uint64_t row : build_rows) matched_.at(row) = true;
        return {};
    }

    Status scan_build(bool matched, std::unique_ptr<Cursor>* cursor) override {
        std::vector<uint64_t> rows;
        for (uint64_t row = 0; row < build_.size(); row++)
            if (matched_[row] == matched) rows.push_back(row);
        *cursor = std::make_unique<FakeCursor>(this, rows);
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
    std::mutex mutex_;
    std::vector<Row> build_;  // by their numbers
    std::vector<RowRun> runs_;
    std::vector<bool> matched_;
    std::atomic<int> cursors_{0};
    uint64_t charged_ = 0;
};

FakeCursor::FakeCursor(FakeJoin* join, std::vector<Row> probe) : join_(join), probe_rows_(probe.size()) {
    std::lock_guard lock(join_->mutex_);
    for (uint32_t p = 0; p < probe.size() && !*join_->limits_.cancel; p++) {
        for (uint64_t b = 0; b < join_->build_.size(); b++) {
            if (!join_->matches(probe[p], join_->build_[b])) continue;
            if (!join_->spec_.client_decides) join_->matched_[b] = true;
            pairs_.push_back({p, b});
        }
    }
    join_->controls_->cursors++;
    join_->cursors_++;  // now that nothing can go wrong any more
}

FakeCursor::FakeCursor(FakeJoin* join, std::vector<uint64_t> build_rows) : join_(join) {
    for (uint64_t row : build_rows) pairs_.push_back({kNoProbeRow, row});
    join_->controls_->cursors++;
    join_->cursors_++;
}

FakeCursor::~FakeCursor() {
    join_->controls_->cursors--;
    join_->cursors_--;
}

bool FakeCursor::is_busy() const {
    return probe_rows_ > 0 && probe_rows_ >= join_->controls_->busy_from && !*join_->limits_.cancel;
}

uint64_t FakeCursor::bytes_of(std::span<const Pair> pairs) const {
    const JoinSpec& spec = join_->spec_;
    uint64_t bytes = align_buffer(pairs.size() * 4) + align_buffer(pairs.size() * 8);
    for (uint16_t i = 0; i < spec.outputs; i++) {
        uint32_t width = fixed_width(spec.build[spec.output[i]].type);
        uint64_t data = 0;
        if (width == 0)
            for (const Pair& pair : pairs)
                if (const Cell& cell = join_->build_[pair.build_row][spec.output[i]]) data += cell->size();
        bytes += align_buffer(validity_bytes(pairs.size())) + align_buffer(data) +
                 align_buffer(width > 0 ? pairs.size() * width : (pairs.size() + 1) * 4);
    }
    return bytes;
}

void FakeCursor::write(std::span<const Pair> pairs, const Sink& sink, ResultBatch* result) const {
    const JoinSpec& spec = join_->spec_;
    memset(sink.memory, 0, bytes_of(pairs));
    auto take = [&](uint64_t bytes) {
        uint64_t start = result->bytes;
        result->bytes += align_buffer(bytes);
        return start;
    };
    result->rows = static_cast<uint32_t>(pairs.size());
    if (pairs.front().probe_row != kNoProbeRow) result->probe_rows = take(pairs.size() * 4);
    if (spec.client_decides) result->build_rows = take(pairs.size() * 8);
    for (size_t r = 0; r < pairs.size(); r++) {
        if (result->probe_rows != kNoBuffer)
            memcpy(sink.memory + result->probe_rows + r * 4, &pairs[r].probe_row, 4);
        if (result->build_rows != kNoBuffer)
            memcpy(sink.memory + result->build_rows + r * 8, &pairs[r].build_row, 8);
    }
    for (uint16_t i = 0; i < spec.outputs; i++) {
        uint32_t width = fixed_width(spec.build[spec.output[i]].type);
        ColumnBuffers buffers;
        buffers.validity = take(validity_bytes(pairs.size()));
        buffers.values = take(width > 0 ? pairs.size() * width : (pairs.size() + 1) * 4);
        uint64_t data = 0;
        if (width == 0) buffers.data = result->bytes;
        for (size_t r = 0; r < pairs.size(); r++) {
            const Cell& cell = join_->build_[pairs[r].build_row][spec.output[i]];
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

class FakeEngine : public Engine {
  public:
    FakeEngine(int number, FakeControls* controls, uint64_t join_memory)
        : number_(number), controls_(controls), join_memory_(join_memory) {}

    Status open(const JoinSpec& spec, const Limits& limits, std::unique_ptr<Join>* join) override {
        auto made = std::make_unique<FakeJoin>(spec, limits, controls_);
        GPUJOIN_RETURN_IF_FAILED(made->interfere(FakeControls::Open));
        *join = std::move(made);
        return {};
    }
    Status pin(std::byte*, uint64_t) override { return {}; }
    DeviceDescription describe() const override {
        const char* engine = number_ < 0 ? "cpu" : "cuda";
        return {engine, "fake", number_, 1u << 30, 1u << 30, 1, "ready", join_memory_};
    }

  private:
    const int number_;
    FakeControls* const controls_;
    const uint64_t join_memory_;
};

}  // namespace

std::unique_ptr<Engine> make_fake_engine(int number, FakeControls* controls, uint64_t join_memory) {
    return std::make_unique<FakeEngine>(number, controls, join_memory);
}

}  // namespace gpujoin::test
