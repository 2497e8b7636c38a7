// See kept_store.h.
#include "server/kept_store.h"

#include <algorithm>
#include <cstring>

namespace gpujoin {

namespace {

constexpr uint32_t kMostLives = 8;

bool is_same(const ChunkColumn& a, const ChunkColumn& b) {
    return memcmp(a.identity, b.identity, sizeof a.identity) == 0 && a.spec.type == b.spec.type &&
           a.spec.order == b.spec.order;
}

const KeptValues* find_column(const KeptChunk& chunk, const ChunkColumn& wanted) {
    auto found = std::ranges::find_if(
        chunk.columns(), [&](const KeptValues& values) { return is_same(values.column, wanted); });
    return found == chunk.columns().end() ? nullptr : &*found;
}

bool is_of(const ChunkKey& chunk, const ChunkKey& table) {
    return table.relation == 0 || (chunk.database == table.database && chunk.tablespace == table.tablespace &&
                                   chunk.relation == table.relation);
}

}  // namespace

KeptStore::Found KeptStore::find(const ChunkKey& key, std::span<const ChunkColumn> columns) {
    Found found;
    found.has.assign(columns.size(), false);
    auto here = entries_.find(key);
    if (here == entries_.end()) return found;
    Entry& entry = here->second;
    found.exists = true;
    found.version = entry.version;
    found.map = &entry.map;
    KeptView view{entry.chunks, {}};
    for (size_t i = 0; i < columns.size(); i++)
        for (const auto& chunk : entry.chunks)
            if (const KeptValues* values = find_column(*chunk, columns[i])) {
                found.has[i] = true;
                view.columns.push_back(values);
                break;
            }
    if (view.columns.size() < columns.size()) return found;
    found.view = std::move(view);
    entry.used_at = ++clock_;
    entry.uses++;
    entry.lives = std::min(entry.lives + 1, kMostLives);
    return found;
}

uint64_t KeptStore::bytes_of(const Entry& entry) {
    uint64_t bytes = 0;
    for (const auto& chunk : entry.chunks) bytes += chunk->bytes();
    return bytes;
}

// Chunks that are in use take their memory along.
bool KeptStore::make_room(const ChunkKey& key, uint64_t bytes) {
    if (bytes > memory_.limit()) return false;
    auto has_room = [&] { return memory_.used() <= memory_.limit() - bytes; };
    if (has_room()) return true;
    std::vector<std::pair<uint64_t, ChunkKey>> oldest_first;
    for (const auto& [other, entry] : entries_)
        if (!is_of(other, key)) oldest_first.emplace_back(entry.used_at, other);
    std::ranges::sort(oldest_first);
    for (const auto& [used_at, other] : oldest_first) {
        Entry& entry = entries_.at(other);
        if (entry.lives > 0)
            entry.lives--;
        else
            entries_.erase(other);
        if (has_room()) return true;
    }
    return false;
}

std::shared_ptr<KeptChunk> KeptStore::make(const ChunkKey& key, std::span<const ChunkColumn> columns,
                                           uint64_t bytes) {
    if (making_.contains(key) || bytes > memory_.limit() || !make_room(key, bytes + KeptChunk::kFixedBytes))
        return nullptr;
    auto chunk = std::make_shared<KeptChunk>(columns, &memory_);
    making_.insert(key);
    return chunk;
}

void KeptStore::put(const ChunkKey& key, uint64_t version, const ChunkMap& map,
                    std::shared_ptr<KeptChunk> chunk) {
    making_.erase(key);
    Entry& entry = entries_[key];
    const bool joins = !entry.chunks.empty() && entry.version == version &&
                       memcmp(&entry.map, &map, sizeof map) == 0 && entry.chunks.front()->has_rows_of(*chunk);
    if (!joins) entry.chunks.clear();
    entry.version = version;
    entry.map = map;
    entry.chunks.push_back(std::move(chunk));
    entry.used_at = ++clock_;
}

void KeptStore::forget(const ChunkKey& table) {
    std::erase_if(entries_, [&](const auto& entry) { return is_of(entry.first, table); });
}

void KeptStore::describe(KeptTablesBody* body) const {
    body->used = memory_.used();
    body->limit = memory_.limit();
    for (const auto& [key, entry] : entries_) {
        const bool is_next = body->count > 0 && is_of(key, body->table[body->count - 1].table);
        if (!is_next) {
            if (body->count == kMaxKeptTables) return;
            body->table[body->count++].table = {key.database, key.tablespace, key.relation, 0};
        }
        KeptTable& table = body->table[body->count - 1];
        uint32_t columns = 0;
        for (const auto& chunk : entry.chunks) columns += static_cast<uint32_t>(chunk->columns().size());
        table.table.number++;
        table.rows += entry.chunks.front()->rows();
        table.bytes += bytes_of(entry);
        table.uses = std::max(table.uses, entry.uses);
        table.columns = std::max(table.columns, columns);
    }
}

}  // namespace gpujoin
