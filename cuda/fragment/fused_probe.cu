// Probing several stages in one pass.
#include "cuda/fragment/fused_probe.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cuda/results/result_writer.h"
#include "cuda/work/launch.cuh"
#include "cuda/work/number_rows.cuh"
#include "cuda/work/primitives.h"
#include "engine/counters.h"
#include "engine/result_layout.h"

namespace gpujoin::cuda {

namespace {

constexpr uint32_t kUnitRows = Warp::kThreads;
constexpr uint32_t kWarpsOfBlock = kBlockThreads / kUnitRows;
constexpr uint64_t kUnitsOfBlock = uint64_t{4} * kWarpsOfBlock;
constexpr uint64_t kMostWritten = uint64_t{4} << 30;  // bytes of a stage's columns

GPUJOIN_HD uint64_t units_of(uint64_t rows) {
    return (rows + kUnitRows - 1) / kUnitRows;
}

// By unit: which rows pass all stages, and how many do. A block probes the units of its warps, one by one.
struct ProbeStages {
    QuickLookup quick[kMaxStages];
    FusedOutcome outcomes[kMaxStages];
    const FusedLookup* lookups;
    const DeviceColumn* columns;
    uint32_t stages;
    uint64_t first;
    uint64_t rows;
    uint32_t* masks;
    uint32_t* counts;
    PassedRows* passed;

    __device__ void operator()(uint64_t block) const {
        __shared__ uint32_t passing[kMaxStages];
        if (threadIdx.x < stages) passing[threadIdx.x] = 0;
        __syncthreads();
        const uint64_t end = min(units_of(rows), (block + 1) * kUnitsOfBlock);
        for (uint64_t unit = block * kUnitsOfBlock + threadIdx.x / kUnitRows; unit < end;
             unit += kWarpsOfBlock)
            probe(unit, passing);
        __syncthreads();
        if (threadIdx.x < stages) atomicAdd(&passed->of[threadIdx.x], passing[threadIdx.x]);
    }

  private:
    __device__ void probe(uint64_t unit, uint32_t* passing) const {
        const bool is_first = threadIdx.x % kUnitRows == 0;
        const uint64_t row = unit * kUnitRows + threadIdx.x % kUnitRows;
        bool passes = row < rows;
        uint32_t mask = ~0u;
        for (uint32_t stage = 0; stage < stages && mask; stage++) {
            passes = passes && finds(stage, row);
            mask = __ballot_sync(~0u, passes);
            if (is_first) atomicAdd(&passing[stage], __popc(mask));
        }
        if (!is_first) return;
        masks[unit] = mask;
        counts[unit] = __popc(mask);
    }
    __device__ bool finds(uint32_t stage, uint64_t row) const {
        const FusedOutcome& outcome = outcomes[stage];
        uint64_t key_row;
        uint32_t leader = kNoRow;
        bool is_found = outcome.has_key(first, row, &key_row);
        if (is_found)
            is_found = quick[stage].width > 0 ? quick[stage].finds(key_row, &leader)
                                              : lookups[stage].finds(columns, key_row, &leader);
        return outcome.note(row, is_found, leader);
    }
};
static_assert(sizeof(ProbeStages) <= 4096, "a kernel's parameters");

// What was found by row of the piece, laid side by side.
struct PartnerColumns {
    const uint32_t* from[kMaxStages];
    uint32_t* to[kMaxStages];
    uint32_t count = 0;
};

Status compact_rows(const WorkContext& context, uint64_t first, uint64_t rows, const uint32_t* masks,
                    const uint32_t* starts, uint32_t* source_rows, const PartnerColumns& partners) {
    return for_each(context.handle(), rows, [=] __device__(uint64_t row) {
        const uint32_t mask = masks[row / kUnitRows];
        const uint32_t bit = row % kUnitRows;
        if (!(mask >> bit & 1)) return;
        const uint32_t place = starts[row / kUnitRows] + __popc(mask & ((1u << bit) - 1));
        source_rows[place] = static_cast<uint32_t>(first + row);
        for (uint32_t i = 0; i < partners.count; i++) partners.to[i][place] = partners.from[i][row];
    });
}

}  // namespace

FusedProbe::FusedProbe(FusedChain* chain, const BatchWork* work) : chain_(*chain), work_(*work) {}

Status FusedProbe::start(uint32_t stages, std::span<const ColumnView> source, uint64_t source_rows) {
    stages_.clear();
    stages_.resize(stages);
    const Status status = prepare(source, source_rows);
    if (status.fault == Fault::DeviceMemory) chain_.give_up();
    return status;
}

void FusedProbe::end() {
    if (stages_.empty()) return;
    (void)work_.synchronize();
    end_piece();
    stages_.clear();
}

Status FusedProbe::prepare(std::span<const ColumnView> source, uint64_t source_rows) {
    partners_.resize(stages_.size());
    found_.resize(stages_.size());
    written_.resize(stages_.size());
    device_arguments_.reset();
    columns_.clear();
    for (size_t i = 0; i < stages_.size(); i++)
        GPUJOIN_RETURN_IF_FAILED(prepare_stage(i, source, source_rows));
    return {};
}

Status FusedProbe::prepare_stage(size_t stage, std::span<const ColumnView> source, uint64_t source_rows) {
    Stage& now = stages_[stage];
    SealedJoin& join = chain_.join(stage);
    now.first_column = static_cast<uint32_t>(columns_.size());
    if (chain_.origin_of_key(stage) > 0)
        add_build_columns(stage);
    else
        GPUJOIN_RETURN_IF_FAILED(add_source_columns(stage, source, source_rows));
    const std::vector<bool> is_read = chain_.read_behind(static_cast<uint32_t>(stages_.size()), stage);
    now.is_read = std::ranges::find(is_read, true) != is_read.end();
    now.is_found = now.is_read || is_key_of_later(stage);
    if (!now.is_read || join.lookup.holds_values() || rows_of(join.spec.kind).unmatched_probe_rows) return {};
    now.columns = chain_.columns(stage);
    return now.columns->make(work_.context(), join, is_read);
}

Status FusedProbe::add_source_columns(size_t stage, std::span<const ColumnView> source,
                                      uint64_t source_rows) {
    std::vector<ColumnSpec> specs;
    std::vector<ColumnView> views;
    for (const LiveColumn& column : chain_.stage(stage).probe) {
        specs.push_back(column.spec);
        views.push_back(source[column.column]);
    }
    std::vector<OwnedColumn>& owned = stages_[stage].of_source;
    GPUJOIN_RETURN_IF_FAILED(
        upload_columns(work_.context().upload(), specs, {source_rows, views, Memory::Device}, true, &owned));
    for (size_t i = 0; i < specs.size(); i++) columns_.push_back(owned[i].view(specs[i]));
    return {};
}

// Those of an earlier stage's build side. What that holds is known by piece.
void FusedProbe::add_build_columns(size_t stage) {
    const SealedJoin& from = chain_.join(chain_.origin_of_key(stage) - 1u);
    for (const LiveColumn& column : chain_.stage(stage).probe) {
        columns_.push_back(from.build_views[from.spec.output[column.column]]);
        columns_.back().spec = column.spec;
    }
}

bool FusedProbe::is_key_of_later(size_t stage) const {
    for (size_t later = stage + 1; later < stages_.size(); later++)
        if (chain_.origin_of_key(later) == stage + 1) return true;
    return false;
}

Status FusedProbe::probe(uint64_t first, uint64_t rows, FusedRows* passed) {
    const WorkTimer timer;
    const Status status = probe_piece(first, rows, passed);
    if (status.fault == Fault::DeviceMemory) {
        chain_.give_up();
        (void)work_.synchronize();
        end_piece();
    }
    if (status.ok()) count(rows, static_cast<uint64_t>(std::chrono::nanoseconds(timer.elapsed()).count()));
    return status;
}

void FusedProbe::end_piece() {
    partners_ = std::vector<DeviceArray<uint32_t>>(stages_.size());
    found_ = std::vector<DeviceArray<uint32_t>>(stages_.size());
    written_ = std::vector<DeviceArray<std::byte>>(stages_.size());
    masks_.reset();
    starts_.reset();
    pairs_ = {};
    device_arguments_.reset();
}

Status FusedProbe::probe_piece(uint64_t first, uint64_t rows, FusedRows* passed) {
    GPUJOIN_RETURN_IF_FAILED(find_partners(first, rows));
    passed->rows = passed_.of[stages_.size() - 1];
    if (passed->rows == 0) return {};
    GPUJOIN_RETURN_IF_FAILED(compact(first, rows));
    passed->rows_of[0] = pairs_.probe.data();
    for (size_t i = 0; i < stages_.size(); i++) GPUJOIN_RETURN_IF_FAILED(give_columns(i, passed));
    // The next stage reads on another stream.
    return work_.synchronize();
}

Status FusedProbe::find_partners(uint64_t first, uint64_t rows) {
    const WorkContext context = work_.context();
    const uint64_t units = units_of(rows);
    GPUJOIN_RETURN_IF_FAILED(masks_.reserve(context.account, units, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(starts_.reserve(context.account, units, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(device_passed_.reserve(context.account, 1, context.handle()));
    for (size_t i = 0; i < stages_.size(); i++)
        if (stages_[i].is_found)
            GPUJOIN_RETURN_IF_FAILED(partners_[i].reserve(context.account, rows, context.handle()));
    take_held_keys();
    ProbeStages probe{};
    probe.stages = static_cast<uint32_t>(stages_.size());
    probe.first = first;
    probe.rows = rows;
    probe.masks = masks_.data();
    probe.counts = starts_.data();
    probe.passed = device_passed_.data();
    bool are_quick = true;
    for (size_t i = 0; i < stages_.size(); i++) {
        probe.quick[i] =
            make_quick_lookup(chain_.join(i).lookup.view(), columns_.data() + stages_[i].first_column);
        probe.outcomes[i] = outcome_of(i);
        are_quick = are_quick && probe.quick[i].width > 0;
    }
    if (!are_quick) GPUJOIN_RETURN_IF_FAILED(upload_lookups(&probe.lookups, &probe.columns));
    GPUJOIN_RETURN_IF_FAILED(fill_bytes(context.handle(), device_passed_.data(), 0, 1));
    GPUJOIN_RETURN_IF_FAILED(
        for_each_block(context.handle(), (units + kUnitsOfBlock - 1) / kUnitsOfBlock, probe));
    GPUJOIN_RETURN_IF_FAILED(exclusive_sum(context.account, context.handle(), starts_.data(), units));
    return read_back(context, device_passed_.data(), &passed_);
}

// What a stage has found in the place of rows, where the piece before had other memory for it.
void FusedProbe::take_held_keys() {
    for (size_t i = 0; i < stages_.size(); i++) {
        if (!chain_.is_key_held(i)) continue;
        const auto* found =
            reinterpret_cast<const std::byte*>(partners_[chain_.origin_of_key(i) - 1u].data());
        for (size_t column = 0; column < chain_.stage(i).probe.size(); column++) {
            DeviceColumn& key = columns_[stages_[i].first_column + column];
            if (key.values != found) device_arguments_.reset();
            key.values = found;
        }
    }
}

FusedOutcome FusedProbe::outcome_of(size_t stage) const {
    const SealedJoin& join = chain_.join(stage);
    const JoinRows gives = rows_of(join.spec.kind);
    const uint16_t origin = chain_.origin_of_key(stage);
    return {gives.pairs || gives.matched_probe_rows,
            gives.unmatched_probe_rows,
            origin > 0 ? partners_[origin - 1].data() : nullptr,
            chain_.is_key_held(stage),
            join.lookup.view().rows,
            stages_[stage].is_found ? partners_[stage].data() : nullptr};
}

// The lookups of the stages, and behind them the probe columns of all stages: once a batch.
Status FusedProbe::upload_lookups(const FusedLookup** uploaded, const DeviceColumn** columns) {
    const uint64_t bytes_of_lookups = stages_.size() * sizeof(FusedLookup);
    if (!device_arguments_.data()) {
        std::vector<std::byte> arguments(bytes_of_lookups + columns_.size() * sizeof(DeviceColumn));
        for (size_t i = 0; i < stages_.size(); i++) {
            const SealedJoin& join = chain_.join(i);
            const uint32_t first = stages_[i].first_column;
            const FusedLookup lookup{join.lookup.view(), join.required_of(false, columns_.data() + first),
                                     first};
            memcpy(arguments.data() + i * sizeof lookup, &lookup, sizeof lookup);
        }
        memcpy(arguments.data() + bytes_of_lookups, columns_.data(), columns_.size() * sizeof(DeviceColumn));
        GPUJOIN_RETURN_IF_FAILED(mail_vector(work_.context(), arguments, &device_arguments_));
    }
    *uploaded = reinterpret_cast<const FusedLookup*>(device_arguments_.data());
    *columns = reinterpret_cast<const DeviceColumn*>(device_arguments_.data() + bytes_of_lookups);
    return {};
}

Status FusedProbe::compact(uint64_t first, uint64_t rows) {
    const WorkContext context = work_.context();
    const uint32_t passed = passed_.of[stages_.size() - 1];
    GPUJOIN_RETURN_IF_FAILED(pairs_.probe.reserve(context.account, passed, context.handle()));
    if (passed == rows) return take_all(first, rows);
    PartnerColumns partners;
    for (size_t i = 0; i < stages_.size(); i++) {
        if (!stages_[i].is_read) continue;
        GPUJOIN_RETURN_IF_FAILED(found_[i].reserve(context.account, passed, context.handle()));
        partners.from[partners.count] = partners_[i].data();
        partners.to[partners.count++] = found_[i].data();
    }
    return compact_rows(context, first, rows, masks_.data(), starts_.data(), pairs_.probe.data(), partners);
}

// All rows have passed: what was found lies side by side.
Status FusedProbe::take_all(uint64_t first, uint64_t rows) {
    for (size_t i = 0; i < stages_.size(); i++)
        if (stages_[i].is_read) std::swap(found_[i], partners_[i]);
    return number_rows(work_.context(), rows, pairs_.probe.data(), first);
}

// What is held in the place of rows is the only column.
Status FusedProbe::give_columns(size_t stage, FusedRows* passed) {
    const Stage& now = stages_[stage];
    const std::span<ColumnView> columns = passed->columns[stage];
    passed->rows_of[stage + 1] = nullptr;
    if (!now.is_read) return {};
    if (now.columns) {
        std::ranges::copy(now.columns->views(), columns.begin());
        passed->rows_of[stage + 1] = found_[stage].data();
        return {};
    }
    if (!chain_.join(stage).lookup.holds_values()) return write(stage, passed->rows, columns);
    columns[0] = {};
    columns[0].values = reinterpret_cast<const std::byte*>(found_[stage].data());
    return {};
}

// Writes all rows into one result, in as much memory as that takes.
Status FusedProbe::write(size_t stage, uint32_t rows, std::span<ColumnView> columns) {
    const SealedJoin& join = chain_.join(stage);
    std::vector<ResultColumn> shapes;
    for (uint32_t i = 0; i < join.spec.outputs; i++) shapes.push_back(result_column(join.spec, i));
    const ResultShape shape = make_result_shape(shapes, false, false);
    DeviceArray<std::byte>& written = written_[stage];
    const WorkContext context = work_.context();
    ResultWriter writer(join.spec, join.build_views.data(), nullptr, join.row_data());
    ResultBatch result;
    std::swap(pairs_.build, found_[stage]);
    Status status;
    uint64_t bytes =
        result_bytes(shape, rows) + shape.bytes_columns * align_to_buffer(rows * join.row_data());
    for (;; bytes *= 2) {
        status = bytes > kMostWritten ? failure(Fault::DeviceMemory, "53200", "too many bytes in a batch")
                                      : written.reserve(context.account, bytes, context.handle());
        if (!status.ok()) break;
        pairs_.first = 0;
        pairs_.last = rows;
        status = writer.write(context, &pairs_, {written.data(), written.size(), Memory::Device}, &result);
        if (!status.ok() || pairs_.empty()) break;
    }
    std::swap(pairs_.build, found_[stage]);
    if (status.ok()) view_result(result, chain_.stage(stage).columns, written.data(), columns);
    return status;
}

// Each stage has had the time that its share of all lookups takes.
void FusedProbe::count(uint64_t rows, uint64_t ns) {
    uint64_t lookups = rows;
    for (size_t i = 0; i + 1 < stages_.size(); i++) lookups += passed_.of[i];
    for (size_t i = 0; i < stages_.size(); i++) {
        JoinCounters& counters = chain_.join(i).counters;
        counters.probe_rows += rows;
        counters.probe_batches++;
        for (const LiveColumn& column : chain_.stage(i).probe)
            counters.probe_bytes +=
                rows * std::max<uint64_t>(fixed_width(column.spec.type), sizeof(uint32_t));
        counters.probe_ns += ns * rows / lookups;
        counters.is_fused = true;
        rows = passed_.of[i];
    }
}

}  // namespace gpujoin::cuda
