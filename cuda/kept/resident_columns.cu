// Bringing kept columns to the device, and giving them up.
#include "cuda/kept/resident_columns.h"

#include <algorithm>
#include <iterator>

namespace gpujoin::cuda {

namespace {

constexpr uint64_t kShareOfPool = 2;
constexpr uint64_t kRoundsUntilStale = 2;

}  // namespace

ResidentColumns::ResidentColumns(DevicePool* pool)
    : ledger_(pool->ledger().limit() / kShareOfPool), account_(pool, &ledger_) {}

// New where there is none; columns whose chunk is gone go at that occasion.
std::shared_ptr<ResidentColumn> ResidentColumns::take(const std::shared_ptr<const KeptChunk>& chunk,
                                                      const KeptValues& values) {
    std::lock_guard lock(mutex_);
    auto found = columns_.find(&values);
    if (found == columns_.end() || found->second->chunk.lock() != chunk) {
        std::erase_if(columns_, [](const auto& column) { return column.second->chunk.expired(); });
        auto made = std::make_shared<ResidentColumn>();
        made->chunk = chunk;
        found = columns_.insert_or_assign(&values, std::move(made)).first;
    }
    found->second->used_at = ++clock_;
    return found->second;
}

Status ResidentColumns::find(const WorkContext& context, const std::shared_ptr<const KeptChunk>& chunk,
                             const KeptValues& values, std::shared_ptr<const ResidentColumn>* column) {
    const std::shared_ptr<ResidentColumn> taken = take(chunk, values);
    std::lock_guard lock(taken->loading);
    if (!taken->is_loaded) GPUJOIN_RETURN_IF_FAILED(load(context, values, taken.get()));
    *column = taken;
    return {};
}

Status ResidentColumns::load(const WorkContext& context, const KeptValues& values, ResidentColumn* column) {
    const KeptArray* const arrays[] = {&values.values, &values.starts, &values.data, &values.validity};
    uint64_t bytes = 0;
    for (const KeptArray* array : arrays) bytes += align_buffer(array->bytes());
    bytes = std::max(bytes, kBufferAlignment);
    make_room(bytes);
    GPUJOIN_RETURN_IF_FAILED(column->memory.allocate(account_, bytes, context.handle()));
    const std::byte* uploaded[std::size(arrays)] = {};
    std::byte* next = column->memory.data();
    for (size_t i = 0; i < std::size(arrays); i++) {
        const uint64_t count = arrays[i]->bytes();
        if (count == 0) continue;
        GPUJOIN_RETURN_IF_FAILED(
            context.transfer.upload(context.handle(), next, arrays[i]->as<std::byte>(), count, Memory::Host));
        uploaded[i] = next;
        next += align_buffer(count);
    }
    GPUJOIN_RETURN_IF_FAILED(context.stream.synchronize());
    column->values = uploaded[0];
    column->starts = reinterpret_cast<const uint32_t*>(uploaded[1]);
    column->data = uploaded[2];
    column->validity = reinterpret_cast<const uint8_t*>(uploaded[3]);
    column->is_loaded = true;
    return {};
}

// Of those that nobody holds.
ResidentColumns::Columns::iterator ResidentColumns::find_stalest() {
    auto stalest = columns_.end();
    for (auto column = columns_.begin(); column != columns_.end(); ++column) {
        if (column->second.use_count() > 1) continue;
        if (stalest == columns_.end() || column->second->used_at < stalest->second->used_at) stalest = column;
    }
    return stalest;
}

// By giving up stale columns, so that scans of more than there is room for do not drive out what they will
// want first the next time.
void ResidentColumns::make_room(uint64_t bytes) {
    std::lock_guard lock(mutex_);
    if (bytes > ledger_.limit()) return;
    while (ledger_.used() > ledger_.limit() - bytes) {
        auto stalest = find_stalest();
        const uint64_t patience = kRoundsUntilStale * columns_.size();
        if (stalest == columns_.end() || clock_ - stalest->second->used_at <= patience) return;
        columns_.erase(stalest);
    }
}

void ResidentColumns::give_up(uint64_t bytes) {
    std::lock_guard lock(mutex_);
    const uint64_t before = ledger_.used();
    while (before - ledger_.used() < bytes) {
        auto stalest = find_stalest();
        if (stalest == columns_.end()) return;
        columns_.erase(stalest);
    }
}

}  // namespace gpujoin::cuda
