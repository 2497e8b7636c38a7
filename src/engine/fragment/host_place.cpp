// Scratch memory, and gathering from it, with what the CPU engine has for both.
#include "engine/fragment/host_place.h"

#include <vector>

#include "engine/cpu/columns/gather.h"
#include "engine/cpu/memory/host_array.h"
#include "engine/fragment/host_groups.h"
#include "engine/fragment/host_rows.h"
#include "engine/fragment/host_top.h"

namespace gpujoin {

namespace {

// So many that calls cost little for each, so few that they stay in a processor's cache.
constexpr uint64_t kRowsBetweenStages = 16u << 10;
// So few bytes are not charged where the ledger refuses them: the fewest rows pass, whatever is left.
constexpr uint64_t kLeastScratch = 16u << 10;

class HostScratch final : public Scratch {
  public:
    explicit HostScratch(Ledger* ledger) : ledger_(ledger) {}

    Status reserve(uint64_t bytes) override {
        if (bytes <= bytes_) return {};
        memory_.reset();
        data_ = nullptr;
        bytes_ = 0;
        Status status = memory_.allocate(ledger_, bytes);
        if (status.fault == Fault::HostMemory && bytes <= kLeastScratch)
            status = memory_.allocate(nullptr, bytes);
        GPUJOIN_RETURN_IF_FAILED(status);
        data_ = memory_.as<std::byte>();
        bytes_ = bytes;
        return {};
    }

  private:
    Ledger* const ledger_;
    cpu::HostArray memory_;
};

// Where the values of a picked column go, behind those of other columns that take *bytes so far.
ColumnBuffers place_column(const PickedColumn& column, uint64_t rows, uint64_t* bytes) {
    auto take = [bytes](uint64_t of_buffer) {
        const uint64_t start = *bytes;
        *bytes += align_buffer(of_buffer);
        return start;
    };
    ColumnBuffers buffers;
    if (column.column.validity) buffers.validity = take(validity_bytes(rows));
    if (const uint32_t width = fixed_width(column.spec.type)) {
        buffers.values = take(rows * width);
        return buffers;
    }
    const cpu::ColumnSource source = cpu::probe_source(column.spec, column.column);
    for (uint64_t i = 0; i < rows; i++) buffers.data_bytes += cpu::length_at(source, column.rows[i]);
    buffers.values = take((rows + 1) * sizeof(uint32_t));
    buffers.data = take(buffers.data_bytes);
    return buffers;
}

ColumnView gather_column(const PickedColumn& column, uint64_t rows, const ColumnBuffers& buffers,
                         std::byte* base) {
    const cpu::ColumnSource source = cpu::probe_source(column.spec, column.column);
    ColumnView view;
    if (column.spec.type == ColumnType::Bytes) {
        auto* offsets = reinterpret_cast<uint32_t*>(base + buffers.values);
        cpu::gather_bytes(source, column.rows, rows, offsets, base + buffers.data);
        view.offsets = offsets;
        view.data = base + buffers.data;
        view.data_bytes = buffers.data_bytes;
    } else {
        cpu::gather_values(source, column.rows, rows, false, base + buffers.values);
        view.values = base + buffers.values;
    }
    if (buffers.validity != kNoBuffer &&
        cpu::gather_validity(source, column.rows, rows, false, base + buffers.validity))
        view.validity = reinterpret_cast<const uint8_t*>(base + buffers.validity);
    return view;
}

class HostWorkspace final : public Workspace {
  public:
    HostWorkspace(Ledger* ledger, std::unique_ptr<RowConsumer> consumer)
        : ledger_(ledger), consumer_(std::move(consumer)) {}

    Status make_scratch(std::unique_ptr<Scratch>* scratch) override {
        *scratch = std::make_unique<HostScratch>(ledger_);
        return {};
    }

    uint64_t cursor_bytes(uint64_t) const override { return 64u << 10; }

    Status take(const BatchView& source, std::span<const LiveColumn> columns,
                std::span<ColumnView> views) override {
        if (source.memory == Memory::Device)
            return failure(Fault::Error, "XX000", "a fragment in host memory cannot read device memory");
        for (const LiveColumn& live : columns) views[live.column] = source.columns[live.column];
        return {};
    }

    Status compose(const uint32_t* rows, const uint32_t* through, uint32_t count, uint32_t* to) override {
        for (uint32_t i = 0; i < count; i++) to[i] = rows[through[i]];
        return {};
    }

    Status gather(std::span<const PickedColumn> columns, uint64_t rows, Scratch* scratch,
                  std::span<ColumnView> views) override;

    Status select_top(const PickedColumn& key, const TopOrder& order, uint32_t rows, TopKeys& keys,
                      uint32_t* list, uint32_t* selected) override {
        *selected = select_top_rows(host_column(key), order, rows, keys, list);
        return {};
    }

    RowConsumer& consumer() override { return *consumer_; }

  private:
    Ledger* const ledger_;
    const std::unique_ptr<RowConsumer> consumer_;
    std::vector<ColumnBuffers> buffers_;
};

Status HostWorkspace::gather(std::span<const PickedColumn> columns, uint64_t rows, Scratch* scratch,
                             std::span<ColumnView> views) {
    uint64_t bytes = 0;
    buffers_.resize(columns.size());
    for (size_t i = 0; i < columns.size(); i++) {
        if (columns[i].rows) buffers_[i] = place_column(columns[i], rows, &bytes);
        if (buffers_[i].data_bytes > ~uint32_t{0})
            return failure(Fault::Error, "54000", "too many bytes in a column of a fragment");
    }
    GPUJOIN_RETURN_IF_FAILED(scratch->reserve(bytes));
    for (size_t i = 0; i < columns.size(); i++)
        views[i] = columns[i].rows ? gather_column(columns[i], rows, buffers_[i], scratch->data())
                                   : columns[i].column;
    return {};
}

class HostPlace final : public FragmentPlace {
  public:
    explicit HostPlace(const Limits& limits) : limits_(limits) {}

    Memory memory() const override { return Memory::Host; }

    uint64_t rows_between_stages(uint64_t) const override { return kRowsBetweenStages; }

    Status open(const FragmentPlan& plan, std::span<const std::unique_ptr<Join>>,
                SinkCounters* counters) override {
        sink_ = &plan.sink;
        if (sink_->kind == SinkKind::Groups)
            groups_ = std::make_unique<HostGroups>(*sink_, limits_, counters);
        return {};
    }

    Status make_workspace(std::unique_ptr<Workspace>* workspace) override {
        std::unique_ptr<RowConsumer> consumer;
        if (groups_) {
            consumer = groups_->make_consumer();
        } else {
            consumer = std::make_unique<HostRows>(*sink_, limits_.host_memory);
        }
        *workspace = std::make_unique<HostWorkspace>(limits_.host_memory, std::move(consumer));
        return {};
    }

    Aggregator* aggregator() override { return groups_.get(); }

  private:
    const Limits limits_;
    const SinkPlan* sink_ = nullptr;
    std::unique_ptr<HostGroups> groups_;
};

}  // namespace

std::unique_ptr<FragmentPlace> make_host_place(const Limits& limits) {
    return std::make_unique<HostPlace>(limits);
}

}  // namespace gpujoin
