// Memory of stored rows, and copying into it.
#include "engine/fragment/row_store.h"

#include <algorithm>
#include <cstring>

#include "engine/cpu/columns/gather.h"
#include "wire/batch.h"

namespace gpujoin {

namespace {

constexpr uint64_t kFewestStored = 64;
constexpr uint64_t kLeastDataRoom = 64u << 10;
// Address space that is set aside for the values of a column: more than one value can take.
constexpr uint64_t kMostStored = uint64_t{4} << 30;

uint64_t bytes_of_values(const ColumnSpec& column, uint64_t rows) {
    return column.type == ColumnType::Bytes ? (rows + 1) * sizeof(uint64_t) : rows * fixed_width(column.type);
}

}  // namespace

RowStore::RowStore(Ledger* ledger, const std::vector<ColumnSpec>& columns) : ledger_(ledger) {
    for (const ColumnSpec& column : columns) columns_.push_back({column, 0, 0, {}, 0});
}

Status RowStore::make_room(uint64_t rows) {
    const uint64_t wanted = rows_ + rows;
    return wanted <= capacity_ ? Status{} : grow(std::max({wanted, 2 * capacity_, kFewestStored}), ledger_);
}

Status RowStore::make_first_room() {
    return capacity_ > 0 ? Status{} : grow(kFewestStored, nullptr);
}

Status RowStore::grow(uint64_t capacity, Ledger* ledger) {
    std::vector<std::pair<uint64_t, uint64_t>> places;  // values and flags
    uint64_t bytes = 0;
    for (const StoredColumn& column : columns_) {
        const uint64_t flags = bytes + align_buffer(bytes_of_values(column.spec, capacity));
        places.emplace_back(bytes, flags);
        bytes = flags + (column.spec.nullable ? align_buffer(capacity) : 0);
    }
    cpu::HostArray memory;
    GPUJOIN_RETURN_IF_FAILED(memory.allocate(ledger, bytes));
    auto* to = memory.as<std::byte>();
    for (size_t i = 0; i < columns_.size(); i++) {
        StoredColumn& column = columns_[i];
        const auto [values, flags] = places[i];
        if (rows_ > 0) {
            const auto* from = memory_.as<std::byte>();
            std::memcpy(to + values, from + column.values, bytes_of_values(column.spec, rows_));
            if (column.spec.nullable) std::memcpy(to + flags, from + column.null_flags, rows_);
        }
        column.values = values;
        column.null_flags = flags;
    }
    memory_ = std::move(memory);
    capacity_ = capacity;
    return {};
}

Status RowStore::make_data_room(uint32_t column, uint64_t bytes) {
    StoredColumn& stored = columns_[column];
    const uint64_t wanted = data_bytes(column) + bytes;
    if (wanted <= stored.data_room) return {};
    if (stored.data_room == 0) GPUJOIN_RETURN_IF_FAILED(stored.data.reserve(ledger_, kMostStored));
    return grow_data(stored, std::max({wanted, 2 * stored.data_room, kLeastDataRoom}));
}

// What has no room gives its address space back.
Status RowStore::grow_data(StoredColumn& stored, uint64_t room) {
    if (Status status = stored.data.grow(room); !status.ok()) {
        if (stored.data_room == 0) stored.data.reset();
        return status;
    }
    stored.data_room = room;
    return {};
}

Status RowStore::make_first_data_room(uint32_t column, uint64_t bytes) {
    StoredColumn& stored = columns_[column];
    if (bytes <= stored.data_room) return {};
    const uint64_t room = std::max(bytes, kLeastDataRoom);
    stored.data_room = 0;
    GPUJOIN_RETURN_IF_FAILED(stored.data.reserve(ledger_, kMostStored, room));
    return grow_data(stored, room);
}

void RowStore::write(uint32_t column, const cpu::ColumnSource& from, const uint32_t* rows, uint32_t count) {
    const ColumnSpec& spec = columns_[column].spec;
    if (uint8_t* flags = null_flags(column)) {
        for (uint32_t i = 0; i < count; i++) flags[rows_ + i] = from.is_null(rows ? rows[i] : i);
    }
    if (const uint32_t width = fixed_width(spec.type)) {
        std::byte* to = values<std::byte>(column) + uint64_t{rows_} * width;
        if (rows) {
            cpu::gather_values(from, rows, count, false, to);
        } else if (count > 0) {
            std::memcpy(to, from.values, uint64_t{count} * width);
        }
        return;
    }
    uint64_t* ends = offsets(column) + rows_;
    if (rows_ == 0) ends[0] = 0;
    auto* data = columns_[column].data.as<std::byte>();
    for (uint32_t i = 0; i < count; i++) {
        const ValueRef value = from.value(rows ? rows[i] : i);
        if (value.bytes > 0) std::memcpy(data + ends[i], value.data, value.bytes);
        ends[i + 1] = ends[i] + value.bytes;
    }
}

cpu::ColumnSource RowStore::source(uint32_t column) const {
    cpu::ColumnSource source;
    source.spec = columns_[column].spec;
    source.null_flags = null_flags(column);
    if (source.spec.type == ColumnType::Bytes) {
        source.offsets64 = offsets(column);
        source.data = columns_[column].data.as<std::byte>();
        source.data_bytes = data_bytes(column);
    } else {
        source.values = values<std::byte>(column);
    }
    return source;
}

}  // namespace gpujoin
