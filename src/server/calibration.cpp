// Measuring a device. What is taken is the best of many short pieces, a batch each: whatever else the machine
// does only adds, and a short piece has a chance to be left alone. Keys are unique and dense, as surrogate
// keys are, and come in no order, another one on each side. What a match costs is what probing takes more
// where every row finds one than where none does; what a byte costs, what a join of wide rows takes more than
// the same join of narrow ones.
#include "server/calibration.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "engine/turn.h"
#include "fault/fault.h"

namespace gpujoin {

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kLeastRounds = 3;                       // the first loads code and touches memory
constexpr auto kPatience = std::chrono::milliseconds(60);  // no further round begins after that

constexpr uint32_t kOutputColumns = 2;  // of a wide row, 16 bytes each
constexpr uint64_t kOutputBytes = kOutputColumns * 16;

// A join of `rows` rows on each side, a power of two, in one batch.
struct Shape {
    uint32_t rows;
    uint32_t output_columns;
};
constexpr Shape kEmpty = {1, 0};
constexpr Shape kNarrow = {kTargetBatchRows, 0};
constexpr Shape kThin = {64u << 10, 0};
constexpr Shape kWide = {64u << 10, kOutputColumns};
static_assert(kWide.rows * (2 * sizeof(uint32_t) + kOutputBytes) <= kCalibrationBytes);
static_assert(kNarrow.rows * sizeof(uint32_t) <= kCalibrationBytes);

// Nanoseconds, without making up the rows; the best so far.
struct Times {
    static constexpr double kNever = std::numeric_limits<double>::infinity();
    double all = kNever;
    double build = kNever;  // append and seal
    double match = kNever;  // probe with rows that find one match each
    double miss = kNever;   // probe with rows that find none

    void keep_best(const Times& other) {
        all = std::min(all, other.all);
        build = std::min(build, other.build);
        match = std::min(match, other.match);
        miss = std::min(miss, other.miss);
    }
};

std::unique_ptr<JoinSpec> spec_of(const Shape& shape) {
    auto spec = std::make_unique<JoinSpec>();
    spec->names_probe_rows = 1;
    spec->probe_columns = spec->equalities = 1;
    spec->build_columns = static_cast<uint16_t>(1 + shape.output_columns);
    spec->outputs = static_cast<uint16_t>(shape.output_columns);
    spec->estimated_probe_rows = shape.rows;
    spec->probe[0] = spec->build[0] = {ColumnType::Fixed4, ValueOrder::Unsigned, 0, 0};
    for (uint16_t i = 0; i < shape.output_columns; i++) {
        spec->build[1 + i] = {ColumnType::Fixed16, ValueOrder::Bytes, 0, 0};
        spec->output[i] = static_cast<uint16_t>(1 + i);
    }
    return spec;
}

class CalibrationJoin {
  public:
    CalibrationJoin(Engine& engine, const Limits& limits, const CalibrationSpace& space, const Shape& shape)
        : engine_(engine), limits_(limits), space_(space), shape_(shape) {}

    Status run(Times* times) {
        std::unique_ptr<JoinSpec> spec = spec_of(shape_);
        std::unique_ptr<Join> join;
        Times now{0, 0, 0, 0};
        GPUJOIN_RETURN_IF_FAILED(timed(&now.all, [&] { return engine_.open(*spec, limits_, &join); }));
        BatchView batch = make_batch(0, kBuildStride, 1 + shape_.output_columns);
        GPUJOIN_RETURN_IF_FAILED(timed(&now.build, [&] { return build(*join, batch); }));
        batch = make_batch(0, kProbeStride, 1);
        GPUJOIN_RETURN_IF_FAILED(timed(&now.match, [&] { return probe(*join, batch); }));
        batch = make_batch(shape_.rows, kProbeStride, 1);
        GPUJOIN_RETURN_IF_FAILED(timed(&now.miss, [&] { return probe(*join, batch); }));
        timed(&now.all, [&] {
            join.reset();
            return Status{};
        });
        now.all += now.build + now.match;
        times->keep_best(now);
        return {};
    }

  private:
    // Odd: each visits every row, far from the one before.
    static constexpr uint32_t kBuildStride = 26171;
    static constexpr uint32_t kProbeStride = 40503;

    // Others have their turns between the pieces; when a piece gives way all the same, it does not count.
    template <typename Work>
    static Status timed(double* nanoseconds, const Work& work) {
        give_way();
        const WorkTimer timer;
        Status status = work();
        *nanoseconds += std::chrono::duration<double, std::nano>(timer.elapsed()).count();
        return status;
    }

    static Status build(Join& join, const BatchView& batch) {
        GPUJOIN_RETURN_IF_FAILED(join.append(batch, 0));
        SealReport report;
        return join.seal(&report);
    }

    Status probe(Join& join, const BatchView& batch) {
        std::unique_ptr<Cursor> cursor;
        GPUJOIN_RETURN_IF_FAILED(join.probe(batch, &cursor));
        ResultBatch result;
        while (!result.done) {
            GPUJOIN_RETURN_IF_FAILED(cursor->next({space_.output, space_.bytes, space_.memory}, &result));
            if (result.bytes_needed > 0)
                return failure(Fault::Error, "XX000", "could not calibrate: a row needs %llu bytes",
                               static_cast<unsigned long long>(result.bytes_needed));
        }
        return {};
    }

    // Keys of the rows from `first` on, then output columns of any value.
    BatchView make_batch(uint32_t first, uint32_t stride, uint32_t columns) {
        for (uint32_t row = 0; row < shape_.rows; row++) {
            uint32_t key = first + (row * stride & (shape_.rows - 1));
            memcpy(space_.input + row * sizeof key, &key, sizeof key);
        }
        uint64_t offset = 0;
        for (uint32_t i = 0; i < columns; i++) {
            columns_[i] = ColumnView{};
            columns_[i].values = space_.input + offset;
            offset += align_buffer(shape_.rows * (i == 0 ? sizeof(uint32_t) : 16));
        }
        return {shape_.rows, std::span(columns_.data(), columns), space_.memory};
    }

    Engine& engine_;
    const Limits& limits_;
    const CalibrationSpace& space_;
    const Shape shape_;
    std::array<ColumnView, 1 + kOutputColumns> columns_;
};

}  // namespace

Status measure_rates(Engine& engine, const Limits& limits, const CalibrationSpace& space,
                     EngineRates* rates) {
    FaultPause pause;
    Times empty, narrow, thin, wide;
    const std::pair<Shape, Times*> joins[] = {
        {kEmpty, &empty}, {kNarrow, &narrow}, {kThin, &thin}, {kWide, &wide}};
    Clock::time_point began = Clock::now();
    for (uint32_t round = 0; round < kLeastRounds || Clock::now() - began < kPatience; round++)
        for (const auto& [shape, times] : joins)
            GPUJOIN_RETURN_IF_FAILED(CalibrationJoin(engine, limits, space, shape).run(times));
    rates->setup_ns = empty.all;
    rates->build_ns = std::max(0.0, narrow.build - empty.build) / kNarrow.rows;
    rates->probe_ns = std::max(0.0, narrow.miss - empty.miss) / kNarrow.rows;
    rates->match_ns = std::max(0.0, narrow.match - narrow.miss) / kNarrow.rows;
    rates->transfer_ns =
        std::max(0.0, wide.all - thin.all) / (2.0 * static_cast<double>(kWide.rows * kOutputBytes));
    return {};
}

}  // namespace gpujoin
