// Taking rows of a scan, bringing their columns to the device, and making batches of them.
#include "cuda/kept/resident_reader.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "cuda/fragment/batch_work.h"
#include "cuda/kept/gather_kept.h"
#include "engine/guard.h"

namespace gpujoin::cuda {

namespace {

constexpr uint32_t kFewestRows = 64u << 10;  // of a scan that are looked at at once
constexpr uint64_t kMostBytes = 256u << 20;  // of the Bytes columns of a batch, about
constexpr uint64_t kShareOfBytes = 64;       // of what a join may have there, at most
constexpr uint32_t kRoomUnit = 64u << 10;    // rows that there is room for come in such steps

// A chunk's columns may have been made at different times.
const std::shared_ptr<const KeptChunk>& chunk_of(const KeptView& view, const KeptValues& values) {
    return *std::ranges::find_if(view.chunks, [&](const auto& chunk) {
        const std::vector<KeptValues>& columns = chunk->columns();
        return &values >= columns.data() && &values < columns.data() + columns.size();
    });
}

// Parts of one chunk come one behind the other. Of the same blocks, or of others: a scan may have a chunk
// several times.
bool is_of_same_chunk(const KeptPart& part, const KeptPart& before) {
    return part.number == before.number && part.view == before.view;
}
bool is_of_same_blocks(const KeptPart& part, const KeptPart& before) {
    return is_of_same_chunk(part, before) && memcmp(&part.map, &before.map, sizeof part.map) == 0;
}

KeptColumn column_of(const ResidentColumn& resident, const KeptValues& values) {
    return {resident.values,     resident.starts,
            resident.data,       resident.validity,
            values.base,         values.stored.type,
            values.stored.order, values.compression == KeptCompression::Dictionary};
}

class ResidentReader final : public KeptBuildReader {
  public:
    ResidentReader(Device* device, const KeptScan& scan, KeptPosition& position,
                   std::span<const ColumnSpec> source, uint32_t most_rows, const Limits& limits)
        : device_(device),
          scan_(scan),
          position_(position),
          source_(source),
          limits_(limits),
          account_(&device->pool(), limits.device_memory),
          work_(device, &account_, limits.cancel),
          rows_at_once_(scan.rows_within(std::min(kMostBytes, limits.device_memory->limit() / kShareOfBytes),
                                         source.size(), most_rows, kFewestRows)),
          from_host_(scan, nothing_, source, kFewestRows, limits.host_memory) {
        nothing_.next_row = scan.rows();
    }
    ~ResidentReader() override { (void)device_->use(); }

    Status next(BatchView* batch) override {
        return guarded([&] { return find_rows(batch); });
    }
    bool has_begun() const override { return end_ > 0; }
    void leave_device(bool again) override;

  private:
    struct Output {
        DeviceArray<std::byte> values;  // or offsets
        DeviceArray<std::byte> data;
        DeviceArray<uint32_t> validity;
    };
    // What it has on the device.
    struct Buffers {
        DeviceArray<uint32_t> first_rows;
        DeviceArray<ChunkMap> maps;
        DeviceArray<KeptStretch> stretches;
        DeviceArray<KeptColumn> columns;
        DeviceArray<KeptCondition> conditions;
        DeviceArray<uint32_t> list;
        DeviceArray<uint64_t> starts;
        std::vector<Output> outputs;
    };

    Status find_rows(BatchView* batch);
    Status read_on_device(BatchView* batch);
    Status read(BatchView* batch);
    void release();
    Status take_columns();
    Status hold(const KeptView& view);
    void repeat_columns(size_t count);
    Status upload_maps();
    Status upload_batch();
    Status choose(uint32_t rows, const uint32_t** list, uint32_t* chosen);
    Status gather(const uint32_t* list, uint32_t rows);
    Status gather_texts(uint16_t number, const uint32_t* list, uint32_t rows);
    bool has_nulls(uint16_t number) const;
    template <typename T>
    Status reserve(DeviceArray<T>* array, uint64_t count) {
        const WorkContext context = work_.context();
        return array->reserve(context.account, (count + kRoomUnit - 1) / kRoomUnit * kRoomUnit,
                              context.handle());
    }
    template <typename T>
    Status bring(const std::vector<T>& values, DeviceArray<T>* array) {
        const WorkContext context = work_.context();
        GPUJOIN_RETURN_IF_FAILED(array->reserve(context.account, values.size(), context.handle()));
        return context.transfer.upload(context.handle(), array->data(), values.data(),
                                       values.size() * sizeof(T), Memory::Host);
    }

    Device* const device_;
    const KeptScan& scan_;
    KeptPosition& position_;
    const std::span<const ColumnSpec> source_;
    const Limits limits_;
    MemoryAccount account_;
    BatchWork work_;
    const uint32_t rows_at_once_;

    uint64_t first_ = 0, end_ = 0;  // of the scan's rows: those that were taken last
    // They are read in host memory, since there is no room for them on the device.
    KeptPosition nothing_;
    KeptRows from_host_;
    bool is_on_host_ = false;
    bool has_left_device_ = false;

    // The current rows.
    std::vector<std::shared_ptr<const ResidentColumn>> held_;
    std::vector<const KeptPart*> parts_;
    std::vector<KeptStretch> stretches_;
    std::vector<KeptColumn> columns_;
    Buffers buffers_;
    KeptBatch batch_{};
    std::vector<ColumnView> views_{source_.size()};
};

Status ResidentReader::find_rows(BatchView* batch) {
    for (;;) {
        if (is_on_host_) {
            GPUJOIN_RETURN_IF_FAILED(from_host_.next(batch));
            is_on_host_ = batch->rows > 0;
            if (is_on_host_) return {};
        }
        GPUJOIN_RETURN_IF_FAILED(check_cancelled(limits_.cancel));
        const uint64_t first = position_.next_row.fetch_add(rows_at_once_);
        if (first >= scan_.rows()) {
            *batch = {0, views_, Memory::Host};
            return {};
        }
        first_ = first;
        end_ = std::min(scan_.rows(), first + rows_at_once_);
        // Whoever calls again after a failure gets them so.
        is_on_host_ = true;
        from_host_.read_first(first_, end_);
        if (!has_left_device_) {
            const Status status = read_on_device(batch);
            if (status.ok()) {
                is_on_host_ = false;
                from_host_.read_first(end_, end_);
                if (batch->rows > 0) return {};
                continue;
            }
            if (status.fault != Fault::DeviceMemory) return status;
        }
        release();
    }
}

// Where memory is short, others may have what it holds.
void ResidentReader::release() {
    (void)device_->use();
    held_.clear();
    buffers_ = {};
}

void ResidentReader::leave_device(bool again) {
    release();
    has_left_device_ = true;
    if (!again) return;
    is_on_host_ = true;
    from_host_.read_first(first_, end_);
}

Status ResidentReader::read_on_device(BatchView* batch) {
    GPUJOIN_RETURN_IF_FAILED(work_.begin());
    buffers_.outputs.resize(source_.size());
    const Status status = guarded([&] { return read(batch); });
    work_.end();
    return status;
}

// Complete on return.
Status ResidentReader::read(BatchView* batch) {
    GPUJOIN_RETURN_IF_FAILED(take_columns());
    GPUJOIN_RETURN_IF_FAILED(upload_maps());
    GPUJOIN_RETURN_IF_FAILED(upload_batch());
    const uint32_t* list;
    uint32_t rows;
    GPUJOIN_RETURN_IF_FAILED(choose(static_cast<uint32_t>(end_ - first_), &list, &rows));
    GPUJOIN_RETURN_IF_FAILED(gather(list, rows));
    *batch = {rows, views_, Memory::Device};
    return work_.synchronize();
}

Status ResidentReader::take_columns() {
    held_.clear();
    parts_.clear();
    stretches_.clear();
    columns_.clear();
    for (uint64_t row = first_; row < end_;) {
        const KeptPart& part = scan_.part_of(row);
        const uint64_t stop = std::min(end_, part.end_row());
        const bool is_held = !parts_.empty() && is_of_same_chunk(part, *parts_.back());
        parts_.push_back(&part);
        stretches_.push_back({static_cast<uint32_t>(stop - first_), static_cast<uint32_t>(row - first_),
                              part.row_of_chunk(row), nullptr, nullptr});
        if (is_held)
            repeat_columns(part.view.columns.size());
        else
            GPUJOIN_RETURN_IF_FAILED(hold(part.view));
        row = stop;
    }
    return {};
}

Status ResidentReader::hold(const KeptView& view) {
    for (const KeptValues* values : view.columns) {
        std::shared_ptr<const ResidentColumn> column;
        GPUJOIN_RETURN_IF_FAILED(
            device_->resident().find(work_.context(), chunk_of(view, *values), *values, &column));
        columns_.push_back(column_of(*column, *values));
        held_.push_back(std::move(column));
    }
    return {};
}

// The last ones once more, which are held.
void ResidentReader::repeat_columns(size_t count) {
    const size_t first = columns_.size() - count;
    for (size_t i = 0; i < count; i++) {
        const KeptColumn column = columns_[first + i];
        columns_.push_back(column);
    }
}

// Of the chunks of which not all blocks are wanted.
Status ResidentReader::upload_maps() {
    std::vector<uint32_t> first_rows;
    std::vector<ChunkMap> maps;
    std::vector<size_t> numbers(parts_.size());  // of the maps, by part
    for (size_t i = 0; i < parts_.size(); i++) {
        const KeptPart& part = *parts_[i];
        if (part.wants_all) continue;
        if (i == 0 || !is_of_same_blocks(part, *parts_[i - 1])) {
            const std::span<const uint32_t> rows = part.view.rows_of().first_rows();
            first_rows.insert(first_rows.end(), rows.begin(), rows.end());
            maps.push_back(part.map);
        }
        numbers[i] = maps.size() - 1;
    }
    if (maps.empty()) return {};
    GPUJOIN_RETURN_IF_FAILED(bring(first_rows, &buffers_.first_rows));
    GPUJOIN_RETURN_IF_FAILED(bring(maps, &buffers_.maps));
    for (size_t i = 0; i < parts_.size(); i++) {
        if (parts_[i]->wants_all) continue;
        stretches_[i].first_rows = buffers_.first_rows.data() + numbers[i] * (kChunkBlocks + 1);
        stretches_[i].map = buffers_.maps.data() + numbers[i];
    }
    return {};
}

Status ResidentReader::upload_batch() {
    GPUJOIN_RETURN_IF_FAILED(bring(stretches_, &buffers_.stretches));
    GPUJOIN_RETURN_IF_FAILED(bring(columns_, &buffers_.columns));
    GPUJOIN_RETURN_IF_FAILED(bring(scan_.conditions, &buffers_.conditions));
    batch_ = {buffers_.stretches.data(),
              buffers_.columns.data(),
              static_cast<uint32_t>(stretches_.size()),
              static_cast<uint32_t>(columns_.size() / stretches_.size()),
              buffers_.conditions.data(),
              static_cast<uint32_t>(scan_.conditions.size())};
    return {};
}

// No list: all rows.
Status ResidentReader::choose(uint32_t rows, const uint32_t** list, uint32_t* chosen) {
    *list = nullptr;
    *chosen = rows;
    const bool wants_all = std::ranges::all_of(parts_, [](const KeptPart* part) { return part->wants_all; });
    if (wants_all && scan_.conditions.empty()) return {};
    GPUJOIN_RETURN_IF_FAILED(reserve(&buffers_.list, rows));
    *list = buffers_.list.data();
    return select_kept(work_.context(), batch_, rows, buffers_.list.data(), chosen);
}

bool ResidentReader::has_nulls(uint16_t number) const {
    for (size_t i = 0; i < stretches_.size(); i++)
        if (columns_[i * batch_.column_count + number].validity) return true;
    return false;
}

Status ResidentReader::gather(const uint32_t* list, uint32_t rows) {
    std::vector<KeptTarget> targets;
    for (uint16_t i = 0; i < source_.size() && rows > 0; i++) {
        Output& output = buffers_.outputs[i];
        KeptTarget target{i, source_[i].type};
        views_[i] = {};
        if (has_nulls(i)) {
            GPUJOIN_RETURN_IF_FAILED(reserve(&output.validity, (rows + 31) / 32));
            target.validity = output.validity.data();
            views_[i].validity = reinterpret_cast<const uint8_t*>(target.validity);
        }
        if (const uint32_t width = fixed_width(source_[i].type)) {
            GPUJOIN_RETURN_IF_FAILED(reserve(&output.values, uint64_t{rows} * width));
            views_[i].values = target.values = output.values.data();
        } else {
            GPUJOIN_RETURN_IF_FAILED(gather_texts(i, list, rows));
        }
        if (target.values || target.validity) targets.push_back(target);
    }
    return gather_kept(work_.context(), batch_, targets, list, rows);
}

Status ResidentReader::gather_texts(uint16_t number, const uint32_t* list, uint32_t rows) {
    const WorkContext context = work_.context();
    Output& output = buffers_.outputs[number];
    GPUJOIN_RETURN_IF_FAILED(reserve(&buffers_.starts, rows + 1));
    GPUJOIN_RETURN_IF_FAILED(find_kept_starts(context, batch_, number, list, rows, buffers_.starts.data()));
    uint64_t bytes;
    GPUJOIN_RETURN_IF_FAILED(read_back(context, buffers_.starts.data() + rows, &bytes));
    if (bytes > UINT32_MAX) return failure(Fault::DeviceMemory, "53200", "too many bytes in a batch");
    GPUJOIN_RETURN_IF_FAILED(reserve(&output.values, (uint64_t{rows} + 1) * sizeof(uint32_t)));
    GPUJOIN_RETURN_IF_FAILED(reserve(&output.data, std::max<uint64_t>(bytes, 1)));
    auto* offsets = reinterpret_cast<uint32_t*>(output.values.data());
    views_[number].offsets = offsets;
    views_[number].data = output.data.data();
    views_[number].data_bytes = bytes;
    return gather_kept_bytes(context, batch_, number, list, rows, buffers_.starts.data(), bytes, offsets,
                             output.data.data());
}

}  // namespace

std::unique_ptr<KeptBuildReader> make_resident_reader(Device* device, const KeptScan& scan,
                                                      KeptPosition& position,
                                                      std::span<const ColumnSpec> source, uint32_t most_rows,
                                                      const Limits& limits) {
    return std::make_unique<ResidentReader>(device, scan, position, source, most_rows, limits);
}

}  // namespace gpujoin::cuda
