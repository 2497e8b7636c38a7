// Radix joins and their cursors.
#include "engine/cpu/radix/radix_join.h"

#include <bit>
#include <optional>

#include "engine/algorithm.h"
#include "engine/cpu/results/queue_cursor.h"
#include "engine/cpu/radix/radix_lane.h"

namespace gpujoin::cpu {

namespace {

// Build rows of a partition, on average and at most: the table of so many leaves room for the probe tuples
// that stream past in a second-level cache of 512 kB or more.
constexpr uint64_t kPartitionRows = 8u << 10;
constexpr uint32_t kMostBits = 14;  // a line for each partition is as much as that cache holds
// Fewer build rows are not worth the set-up.
constexpr uint64_t kFewestRows = 32u << 10;

bool rides_along(const ColumnSpec& column) {
    return !column.nullable && (column.type == ColumnType::Fixed4 || column.type == ColumnType::Fixed8);
}

// Whether results are just payloads: at most one column of either side, and that rides along with its key.
bool is_direct(const JoinSpec& spec) {
    return spec.outputs <= 1 && spec.carried <= 1 &&
           (!spec.outputs || rides_along(spec.build[spec.output[0]])) &&
           (!spec.carried || rides_along(spec.probe[spec.carry[0]]));
}

// The one column of a side that is given back.
ColumnSpec build_column(const JoinSpec& spec) {
    return spec.outputs ? spec.build[spec.output[0]] : ColumnSpec{ColumnType::Fixed4, {}, 0, 0};
}
ColumnSpec probe_column(const JoinSpec& spec) {
    return spec.carried ? spec.probe[spec.carry[0]] : ColumnSpec{ColumnType::Fixed4, {}, 0, 0};
}

// A probe batch under way.
class RadixProbe {
  public:
    virtual ~RadixProbe() = default;
    // Writes the next results; fewer than the capacity when they are the last.
    virtual Status run(RadixOutput& output) = 0;
    virtual bool is_done() const = 0;
};

template <typename Word>
class RadixProbeOf final : public RadixProbe {
  public:
    RadixProbeOf(JoinContext& join, const RadixSide<Word>& build) : join_(join), build_(build) {}

    Status start(const RadixInput& input, uint32_t bits) {
        bits_ = bits;
        GPUJOIN_RETURN_IF_FAILED(probe_.partition(join_, input, bits));
        items_.emplace(build_.starts, probe_.starts, RadixTable<Word>::kMostRows);
        lanes_ = std::vector<RadixLane<Word>>(join_.workers->threads());
        for (RadixLane<Word>& lane : lanes_) GPUJOIN_RETURN_IF_FAILED(lane.open(join_.limits.host_memory));
        return {};
    }

    Status run(RadixOutput& output) override {
        return join_.workers->run(join_.limits.cancel, static_cast<uint32_t>(lanes_.size()), [&](uint32_t i) {
            lanes_[i].run(build_.tuples(), probe_.tuples(), bits_, *items_, join_.limits.cancel, output);
        });
    }

    bool is_done() const override {
        return items_->all_taken() &&
               std::all_of(lanes_.begin(), lanes_.end(), [](const auto& lane) { return lane.is_idle(); });
    }

  private:
    JoinContext& join_;
    const RadixSide<Word>& build_;
    RadixSide<Word> probe_;
    uint32_t bits_ = 0;
    std::optional<RadixItems> items_;
    std::vector<RadixLane<Word>> lanes_;
};

// Writes payloads straight into the sink's columns, which are laid out for as many rows as fit.
class DirectRadixCursor final : public Cursor {
  public:
    DirectRadixCursor(SealedJoin& join, std::unique_ptr<RadixProbe> probe)
        : join_(join), probe_(std::move(probe)) {
        const JoinSpec& spec = join.context.spec;
        if (spec.outputs) columns_.push_back({build_column(spec).type, false});
        if (spec.carried) columns_.push_back({probe_column(spec).type, false});
    }

    Status next(const Sink& sink, ResultBatch* result) override {
        AddTime timer(&join_.counters.probe_ns);
        return guarded([&] { return write(sink, result); });
    }
    // Probe rows are not named, so none can be left out.
    void skip(uint32_t) override {}

  private:
    Status write(const Sink& sink, ResultBatch* result) {
        if (sink.kind == Memory::Device)
            return failure(Fault::Error, "XX000", "the CPU join engine cannot write device memory");
        *result = {};
        const uint64_t capacity = rows_that_fit(sink.bytes);
        if (capacity == 0) {
            result->bytes_needed = result_bytes(make_result_shape(columns_, false, false), 1);
            return {};
        }
        place_result(columns_, false, false, static_cast<uint32_t>(capacity), {}, result);
        const JoinSpec& spec = join_.context.spec;
        RadixOutput output(spec.outputs ? place_of(*result, 0, sink) : RadixOutput::Column{},
                           spec.carried ? place_of(*result, spec.outputs, sink) : RadixOutput::Column{},
                           capacity);
        GPUJOIN_RETURN_IF_FAILED(probe_->run(output));
        result->rows = static_cast<uint32_t>(output.rows());
        result->done = probe_->is_done();
        return {};
    }

    // More than kMaxBatchRows, where the sink is that large.
    uint64_t rows_that_fit(uint64_t bytes) const {
        const ResultShape shape = make_result_shape(columns_, false, false);
        const uint64_t few = cut_rows(shape, kMaxBatchRows, bytes);
        if (few < kMaxBatchRows) return few;
        const uint64_t row_bytes = result_bytes(shape, kMaxBatchRows) / kMaxBatchRows;
        const uint64_t slack = columns_.size() * kBufferAlignment;
        return row_bytes == 0 ? few : std::clamp<uint64_t>((bytes - slack) / row_bytes, few, UINT32_MAX);
    }

    RadixOutput::Column place_of(const ResultBatch& result, uint32_t column, const Sink& sink) const {
        return {sink.memory + result.columns[column].values, fixed_width(columns_[column].type)};
    }

    SealedJoin& join_;
    std::unique_ptr<RadixProbe> probe_;
    std::vector<ResultColumn> columns_;
};

// Queues pairs of row numbers, from which the result writer gathers. A smaller batch may have had a matcher
// made, before or meanwhile, that has clustered the columns: they are not read here.
class QueuedRadixCursor final : public QueueCursor {
  public:
    QueuedRadixCursor(SealedJoin& join, const BatchView& batch, std::unique_ptr<RadixProbe> probe)
        : QueueCursor(join, ResultWriter(output_columns(join, &batch, BuildNumbers::OfRows), false, nullptr,
                                         nullptr)),
          probe_(std::move(probe)) {}

    using QueueCursor::open;
    void skip(uint32_t) override {}

  private:
    Status produce() override {
        PairQueue& queue = scratch_->queue;
        PairQueue::Room room = {};
        GPUJOIN_RETURN_IF_FAILED(queue.make_all_room(&room));
        RadixOutput output({reinterpret_cast<std::byte*>(room.build)},
                           {reinterpret_cast<std::byte*>(room.probe)}, room.pairs);
        GPUJOIN_RETURN_IF_FAILED(probe_->run(output));
        queue.add(output.rows());
        return {};
    }
    bool exhausted() const override { return probe_->is_done(); }

    std::unique_ptr<RadixProbe> probe_;
};

template <typename Word>
class RadixJoinOf final : public RadixJoin {
  public:
    Status build(JoinContext& join, uint32_t bits) {
        const JoinSpec& spec = join.spec;
        bits_ = bits;
        direct_ = is_direct(spec);
        ColumnSource payload;
        if (direct_ && spec.outputs) payload = join.build.source(spec.output[0]);
        return side_.partition(join, {join.build_reader(), join.layout.bytes, payload, join.build.rows()},
                               bits);
    }

    Status probe(SealedJoin& join, const BatchView& batch, std::unique_ptr<Cursor>* cursor) const override {
        const JoinSpec& spec = join.context.spec;
        ColumnSource payload;
        if (direct_ && spec.carried)
            payload = probe_source(spec.probe[spec.carry[0]], batch.columns[spec.carry[0]]);
        auto made = std::make_unique<RadixProbeOf<Word>>(join.context, side_);
        GPUJOIN_RETURN_IF_FAILED(made->start(
            {join.context.probe_reader(batch), join.context.layout.bytes, payload, batch.rows}, bits_));
        if (direct_) {
            *cursor = std::make_unique<DirectRadixCursor>(join, std::move(made));
            return {};
        }
        auto queued = std::make_unique<QueuedRadixCursor>(join, batch, std::move(made));
        GPUJOIN_RETURN_IF_FAILED(queued->open());
        *cursor = std::move(queued);
        return {};
    }

  private:
    RadixSide<Word> side_;
    uint32_t bits_ = 0;
    bool direct_ = false;
};

template <typename Word>
Status make_radix_join_of(JoinContext& join, uint32_t bits, std::unique_ptr<RadixJoin>* made) {
    auto built = std::make_unique<RadixJoinOf<Word>>();
    GPUJOIN_RETURN_IF_FAILED(built->build(join, bits));
    *made = std::move(built);
    return {};
}

}  // namespace

bool radix_applies(const JoinContext& join) {
    const JoinSpec& spec = join.spec;
    const bool packed = join.layout.bytes == 4 || join.layout.bytes == 8;
    return may_partition(spec) && packed && join.build.rows() >= kFewestRows &&
           partitioning_pays(join.build.rows(), spec.estimated_probe_rows);
}

Status make_radix_join(JoinContext& join, std::unique_ptr<RadixJoin>* made) {
    const uint64_t partitions = (join.build.rows() - 1) / kPartitionRows + 1;
    const uint32_t bits = std::clamp<uint32_t>(std::bit_width(partitions - 1), 1, kMostBits);
    const JoinSpec& spec = join.spec;
    const bool wide =
        join.layout.bytes == 8 || (is_direct(spec) && (fixed_width(build_column(spec).type) == 8 ||
                                                       fixed_width(probe_column(spec).type) == 8));
    return wide ? make_radix_join_of<uint64_t>(join, bits, made)
                : make_radix_join_of<uint32_t>(join, bits, made);
}

}  // namespace gpujoin::cpu
