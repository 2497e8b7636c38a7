// Scratch memory, and gathering from it, with what the CPU engine has for both.
#include "engine/fragment/host_place.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/cpu/columns/gather.h"
#include "engine/cpu/memory/host_array.h"
#include "engine/fragment/host_groups.h"
#include "engine/fragment/host_rows.h"

namespace gpujoin {

namespace {

class HostScratch final : public Scratch {
  public:
    explicit HostScratch(Ledger* ledger) : ledger_(ledger) {}

    Status reserve(uint64_t bytes) override {
        if (bytes <= bytes_) return {};
        memory_.reset();
        data_ = nullptr;
        bytes_ = 0;
        GPUJOIN_RETURN_IF_FAILED(memory_.allocate(ledger_, bytes));
        data_ = memory_.as<std::byte>();
        bytes_ = bytes;
        return {};
    }

  private:
    Ledger* const ledger_;
    cpu::HostArray memory_;
};

// Places the buffers of gathered columns one behind the other, at multiples of kBufferAlignment.
class GatheredLayout {
  public:
    uint64_t take(uint64_t bytes) {
        const uint64_t start = bytes_;
        bytes_ += align_buffer(bytes);
        return start;
    }
    uint64_t bytes() const { return bytes_; }

  private:
    uint64_t bytes_ = 0;
};

class HostWorkspace final : public Workspace {
  public:
    HostWorkspace(Ledger* ledger, std::unique_ptr<RowConsumer> consumer)
        : ledger_(ledger), consumer_(std::move(consumer)) {}

    Status make_scratch(std::unique_ptr<Scratch>* scratch) override {
        *scratch = std::make_unique<HostScratch>(ledger_);
        return {};
    }

    Status take(const BatchView& source, std::span<const uint16_t> columns,
                std::span<ColumnView> views) override {
        if (source.memory == Memory::Device)
            return failure(Fault::Error, "XX000", "a fragment in host memory cannot read device memory");
        for (uint16_t column : columns) views[column] = source.columns[column];
        return {};
    }

    Status compose(const uint32_t* rows, const uint32_t* through, uint32_t count, uint32_t* to) override {
        for (uint32_t i = 0; i < count; i++) to[i] = rows[through[i]];
        return {};
    }

    Status gather(std::span<const PickedColumn> columns, uint64_t rows, Scratch* scratch,
                  std::span<ColumnView> views) override;

    RowConsumer& consumer() override { return *consumer_; }

  private:
    Ledger* const ledger_;
    const std::unique_ptr<RowConsumer> consumer_;
    std::vector<ColumnBuffers> buffers_;
};

Status HostWorkspace::gather(std::span<const PickedColumn> columns, uint64_t rows, Scratch* scratch,
                             std::span<ColumnView> views) {
    GatheredLayout layout;
    buffers_.assign(columns.size(), {});
    for (size_t i = 0; i < columns.size(); i++) {
        const PickedColumn& column = columns[i];
        if (!column.rows) continue;
        ColumnBuffers& buffers = buffers_[i];
        if (column.column.validity) buffers.validity = layout.take(validity_bytes(rows));
        if (const uint32_t width = fixed_width(column.spec.type)) {
            buffers.values = layout.take(rows * width);
            continue;
        }
        buffers.values = layout.take((rows + 1) * sizeof(uint32_t));
        const cpu::ColumnSource source = cpu::probe_source(column.spec, column.column);
        for (uint64_t r = 0; r < rows; r++) buffers.data_bytes += cpu::length_at(source, column.rows[r]);
        if (buffers.data_bytes > ~uint32_t{0})
            return failure(Fault::Error, "54000", "too many bytes in a column of a fragment");
        buffers.data = layout.take(buffers.data_bytes);
    }
    GPUJOIN_RETURN_IF_FAILED(scratch->reserve(layout.bytes()));
    std::byte* base = scratch->data();
    for (size_t i = 0; i < columns.size(); i++) {
        const PickedColumn& column = columns[i];
        views[i] = column.column;
        if (!column.rows) continue;
        const ColumnBuffers& buffers = buffers_[i];
        ColumnView& view = views[i];
        view = {};
        const cpu::ColumnSource source = cpu::probe_source(column.spec, column.column);
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
    }
    return {};
}

class HostPlace final : public FragmentPlace {
  public:
    explicit HostPlace(const Limits& limits) : limits_(limits) {}

    Memory memory() const override { return Memory::Host; }

    Status open(const SinkPlan& sink, SinkCounters* counters) override {
        sink_ = &sink;
        if (sink.kind == SinkKind::Groups) groups_ = std::make_unique<HostGroups>(sink, limits_, counters);
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
