// Keeping rows, or not, and writing them.
#include "engine/fragment/host_rows.h"

#include "engine/cpu/columns/gather.h"

namespace gpujoin {

namespace {

constexpr uint32_t kEnoughRows = 4096;
constexpr uint64_t kEnoughData = 256u << 10;  // of values of any length

std::vector<ColumnSpec> kept_columns(const SinkPlan& plan) {
    std::vector<ColumnSpec> columns{{ColumnType::Fixed4, ValueOrder::Unsigned, 0, 0}};
    for (const LiveColumn& input : plan.inputs) columns.push_back(input.spec);
    return columns;
}

std::vector<ResultColumn> result_columns(const SinkPlan& plan) {
    std::vector<ResultColumn> columns;
    for (const LiveColumn& input : plan.inputs)
        columns.push_back({input.spec.type, input.spec.nullable != 0});
    return columns;
}

}  // namespace

HostRows::HostRows(const SinkPlan& plan, Ledger* ledger)
    : kept_(ledger, kept_columns(plan)), writer_(result_columns(plan), plan.names_source_rows) {}

Status HostRows::begin() {
    kept_.clear();
    rows_ = written_ = kept_written_ = 0;
    is_settled_ = true;
    writes_kept_ = false;
    return {};
}

Status HostRows::start(std::span<const PickedColumn> inputs, const uint32_t* source_rows, uint32_t rows) {
    columns_.clear();
    for (const PickedColumn& input : inputs) columns_.push_back(host_column(input));
    source_rows_ = source_rows;
    rows_ = rows;
    written_ = 0;
    is_settled_ = rows == 0;
    return {};
}

// Of the current rows.
uint64_t HostRows::data_bytes() const {
    uint64_t bytes = 0;
    for (const HostColumn& column : columns_) {
        if (column.source.spec.type != ColumnType::Bytes) continue;
        for (uint32_t i = 0; i < rows_; i++) bytes += cpu::length_at(column.source, column.row(i));
    }
    return bytes;
}

// Adds the current rows to those that are kept. False: they are many, or there is no memory for them.
bool HostRows::keep() {
    if (rows_ >= kEnoughRows || data_bytes() >= kEnoughData || !kept_.make_room(rows_).ok()) return false;
    for (uint32_t i = 0; i < columns_.size(); i++) {
        const HostColumn& column = columns_[i];
        if (column.source.spec.type != ColumnType::Bytes) continue;
        uint64_t bytes = 0;
        for (uint32_t row = 0; row < rows_; row++) bytes += cpu::length_at(column.source, column.row(row));
        if (!kept_.make_data_room(i + 1, bytes).ok()) return false;
    }
    if (source_rows_) {
        cpu::ColumnSource numbers;
        numbers.spec = kept_.spec(0);
        numbers.values = reinterpret_cast<const std::byte*>(source_rows_);
        kept_.write(0, numbers, nullptr, rows_);
    }
    for (uint32_t i = 0; i < columns_.size(); i++)
        kept_.write(i + 1, columns_[i].source, columns_[i].rows, rows_);
    kept_.add(rows_);
    written_ = rows_;
    return true;
}

// Decides what becomes of the current rows. The last ones are not kept but for their order.
void HostRows::settle(bool last) {
    is_settled_ = true;
    const bool is_kept = (!last || kept_.rows() > 0) && keep();
    uint64_t kept_data = 0;
    for (uint32_t i = 1; i < kept_.columns(); i++)
        if (kept_.spec(i).type == ColumnType::Bytes) kept_data += kept_.data_bytes(i);
    writes_kept_ = !is_kept || kept_.rows() >= kEnoughRows || kept_data >= kEnoughData;
}

Status HostRows::next(bool last, const Sink& sink, ResultBatch* result) {
    if (sink.kind == Memory::Device)
        return failure(Fault::Error, "XX000", "rows in host memory are not written to a device");
    *result = {};
    if (!is_settled_) settle(last);
    if ((writes_kept_ || last) && kept_.rows() > 0) {
        kept_columns_.clear();
        for (uint32_t i = 1; i < kept_.columns(); i++) kept_columns_.push_back({kept_.source(i), nullptr});
        writer_.write(kept_columns_, kept_.values<uint32_t>(0), &kept_written_, kept_.rows(), sink, result);
        if (kept_written_ < kept_.rows()) return {};
        kept_.clear();
        kept_written_ = 0;
        writes_kept_ = false;
    } else if (written_ < rows_) {
        writer_.write(columns_, source_rows_, &written_, rows_, sink, result);
    }
    result->done = written_ == rows_ && result->bytes_needed == 0;
    return {};
}

}  // namespace gpujoin
