// Scratch memory on the device, and gathering from it.
#include "cuda/fragment/device_place.h"

#include <algorithm>
#include <bit>

#include "cuda/fragment/device_groups.h"
#include "cuda/fragment/device_rows.h"
#include "cuda/fragment/device_scratch.h"
#include "cuda/fragment/device_top.h"
#include "cuda/fragment/fused_probe.h"
#include "cuda/fragment/gather_picked.h"
#include "cuda/fragment/source_columns.h"
#include "cuda/work/launch.cuh"

namespace gpujoin::cuda {

namespace {

constexpr uint64_t kFewestRowsBetweenStages = 16u << 10;

Status compose_rows(const WorkContext& context, const uint32_t* rows, const uint32_t* through, uint32_t count,
                    uint32_t* to) {
    return for_each(context.handle(), count, [=] __device__(uint64_t i) { to[i] = rows[through[i]]; });
}

class DeviceWorkspace final : public Workspace {
  public:
    DeviceWorkspace(std::unique_ptr<BatchWork> work, FusedChain* chain)
        : work_(std::move(work)), source_(*work_), fused_(chain, work_.get()) {}
    ~DeviceWorkspace() override { (void)work_->use(); }

    void set_consumer(std::unique_ptr<RowConsumer> consumer) { consumer_ = std::move(consumer); }

    Status make_scratch(std::unique_ptr<Scratch>* scratch) override {
        *scratch = std::make_unique<DeviceScratch>(*work_);
        return {};
    }

    // Candidates and matches of each row, where its values of any length start, and what scans work with.
    uint64_t cursor_bytes(uint64_t rows) const override { return (256u << 10) + 64 * rows; }

    Status take(const BatchView& source, std::span<const LiveColumn> columns,
                std::span<ColumnView> views) override {
        GPUJOIN_RETURN_IF_FAILED(work_->use());
        return source_.upload(source, columns, views);
    }

    Status start_fused(uint32_t stages, std::span<const ColumnView> source, uint64_t source_rows) override {
        GPUJOIN_RETURN_IF_FAILED(work_->use());
        return fused_.start(stages, source, source_rows);
    }
    Status probe_fused(uint64_t first, uint64_t rows, FusedRows* passed) override {
        GPUJOIN_RETURN_IF_FAILED(work_->use());
        return fused_.probe(first, rows, passed);
    }
    void end_fused() override {
        (void)work_->use();
        fused_.end();
    }

    // What follows on this stream comes after it; other streams see what gather() has waited for.
    Status compose(const uint32_t* rows, const uint32_t* through, uint32_t count, uint32_t* to) override {
        GPUJOIN_RETURN_IF_FAILED(work_->use());
        return compose_rows(work_->context(), rows, through, count, to);
    }

    Status gather(std::span<const PickedColumn> columns, uint64_t rows, Scratch* scratch,
                  std::span<ColumnView> views) override;

    Status select_top(const PickedColumn& key, const TopOrder& order, uint32_t rows, TopKeys& keys,
                      uint32_t* list, uint32_t* selected) override {
        GPUJOIN_RETURN_IF_FAILED(work_->use());
        return select_top_rows(work_->context(), picked_view(key), order, rows, keys, list, selected);
    }

    RowConsumer& consumer() override { return *consumer_; }

  private:
    Status measure(std::span<const PickedColumn> columns, uint64_t rows);
    Status lay_out(std::span<const PickedColumn> columns, uint64_t rows, Scratch* scratch);
    Status fill(std::span<const PickedColumn> columns, uint64_t rows, std::byte* base,
                std::span<ColumnView> views);

    const std::unique_ptr<BatchWork> work_;
    SourceColumns source_;
    FusedProbe fused_;
    std::unique_ptr<RowConsumer> consumer_;
    std::vector<ColumnBuffers> buffers_;
    DeviceArray<uint64_t> starts_;  // rows + 1 for each Bytes column that is gathered
    std::vector<PickedTarget> targets_;
};

bool is_gathered_text(const PickedColumn& column) {
    return column.rows && column.spec.type == ColumnType::Bytes;
}

// Finds how many bytes of values of any length there are, by column.
Status DeviceWorkspace::measure(std::span<const PickedColumn> columns, uint64_t rows) {
    const WorkContext context = work_->context();
    const auto texts = static_cast<uint64_t>(std::count_if(columns.begin(), columns.end(), is_gathered_text));
    buffers_.assign(columns.size(), {});
    if (texts == 0) return {};
    GPUJOIN_RETURN_IF_FAILED(starts_.reserve(context.account, texts * (rows + 1), context.handle()));
    uint64_t* starts = starts_.data();
    uint64_t* totals = context.stream.mailbox();
    for (const PickedColumn& column : columns) {
        if (!is_gathered_text(column)) continue;
        GPUJOIN_RETURN_IF_FAILED(find_picked_starts(context, picked_view(column), {}, rows, starts));
        GPUJOIN_CHECK_CUDA(cudaMemcpyAsync(totals++, starts + rows, sizeof *starts, cudaMemcpyDeviceToHost,
                                           context.handle()));
        starts += rows + 1;
    }
    GPUJOIN_RETURN_IF_FAILED(work_->synchronize());
    totals = context.stream.mailbox();
    for (size_t i = 0; i < columns.size(); i++)
        if (is_gathered_text(columns[i])) buffers_[i].data_bytes = *totals++;
    return {};
}

Status DeviceWorkspace::lay_out(std::span<const PickedColumn> columns, uint64_t rows, Scratch* scratch) {
    uint64_t next = 0;
    auto take = [&next](uint64_t bytes) {
        const uint64_t start = next;
        next += align_buffer(bytes);
        return start;
    };
    for (size_t i = 0; i < columns.size(); i++) {
        const PickedColumn& column = columns[i];
        if (!column.rows) continue;
        ColumnBuffers& buffers = buffers_[i];
        if (column.column.validity) buffers.validity = take(validity_bytes(rows));
        if (const uint32_t width = fixed_width(column.spec.type)) {
            buffers.values = take(rows * width);
            continue;
        }
        if (buffers.data_bytes > ~uint32_t{0})
            return failure(Fault::Error, "54000", "too many bytes in a column of a fragment");
        buffers.values = take((rows + 1) * sizeof(uint32_t));
        buffers.data = take(buffers.data_bytes);
    }
    return scratch->reserve(next);
}

Status DeviceWorkspace::fill(std::span<const PickedColumn> columns, uint64_t rows, std::byte* base,
                             std::span<ColumnView> views) {
    const WorkContext context = work_->context();
    const uint64_t* starts = starts_.data();
    targets_.clear();
    for (size_t i = 0; i < columns.size(); i++) {
        const PickedColumn& column = columns[i];
        views[i] = column.column;
        if (!column.rows) continue;
        const ColumnBuffers& buffers = buffers_[i];
        PickedTarget target{picked_view(column)};
        ColumnView& view = views[i];
        view = {};
        if (buffers.validity != kNoBuffer) {
            target.validity = reinterpret_cast<uint32_t*>(base + buffers.validity);
            view.validity = reinterpret_cast<const uint8_t*>(target.validity);
        }
        if (target.from.width) {
            view.values = target.values = base + buffers.values;
        } else {
            auto* offsets = reinterpret_cast<uint32_t*>(base + buffers.values);
            GPUJOIN_RETURN_IF_FAILED(gather_picked_bytes(context, target.from, {}, rows, starts,
                                                         buffers.data_bytes, offsets, base + buffers.data));
            starts += rows + 1;
            view.offsets = offsets;
            view.data = base + buffers.data;
            view.data_bytes = buffers.data_bytes;
        }
        targets_.push_back(target);
    }
    return gather_picked(context, targets_, {}, rows);
}

Status DeviceWorkspace::gather(std::span<const PickedColumn> columns, uint64_t rows, Scratch* scratch,
                               std::span<ColumnView> views) {
    GPUJOIN_RETURN_IF_FAILED(work_->use());
    GPUJOIN_RETURN_IF_FAILED(measure(columns, rows));
    GPUJOIN_RETURN_IF_FAILED(lay_out(columns, rows, scratch));
    GPUJOIN_RETURN_IF_FAILED(fill(columns, rows, scratch->data(), views));
    // Joins read them on streams of their own.
    return targets_.empty() ? Status{} : work_->synchronize();
}

class DevicePlace final : public FragmentPlace {
  public:
    DevicePlace(Device* device, const Limits& limits)
        : device_(device), limits_(limits), account_(&device->pool(), limits.device_memory) {}
    ~DevicePlace() override { (void)device_->use(); }

    Memory memory() const override { return Memory::Device; }

    // All that one batch has, where stages give a row for each.
    uint64_t rows_between_stages(uint64_t source_rows) const override {
        return std::clamp<uint64_t>(std::bit_ceil(source_rows), kFewestRowsBetweenStages, kMaxBatchRows);
    }

    // All that one batch has, unless columns are written: a result has no more than kMaxBatchRows.
    uint64_t rows_of_piece(uint64_t source_rows) const override {
        const uint64_t rows = rows_between_stages(source_rows);
        return chain_.writes_columns() ? rows : std::max(rows, source_rows);
    }

    Status open(const FragmentPlan& plan, std::span<const std::unique_ptr<Join>> joins,
                SinkCounters* counters) override {
        chain_.open(plan, joins);
        sink_ = &plan.sink;
        if (sink_->kind != SinkKind::Groups) return {};
        groups_ = std::make_unique<DeviceGroups>(device_, *sink_, limits_, counters);
        return groups_->open();
    }

    uint32_t fused_stages() const override { return chain_.fused_stages(); }

    Status make_workspace(std::unique_ptr<Workspace>* workspace) override {
        auto work = std::make_unique<BatchWork>(device_, &account_, limits_.cancel);
        BatchWork* shared = work.get();
        auto made = std::make_unique<DeviceWorkspace>(std::move(work), &chain_);
        made->set_consumer(groups_ ? groups_->make_consumer(shared) : make_device_rows(*sink_, shared));
        *workspace = std::move(made);
        return {};
    }

    Aggregator* aggregator() override { return groups_.get(); }

  private:
    Device* const device_;
    const Limits limits_;
    MemoryAccount account_;
    FusedChain chain_;
    const SinkPlan* sink_ = nullptr;
    std::unique_ptr<DeviceGroups> groups_;
};

}  // namespace

std::unique_ptr<FragmentPlace> make_device_place(Device* device, const Limits& limits) {
    return std::make_unique<DevicePlace>(device, limits);
}

}  // namespace gpujoin::cuda
