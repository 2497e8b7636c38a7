// See kept_store.h.
#include "server/kept_store.h"

#include <algorithm>
#include <cstring>

#include "fault/fault.h"

namespace gpujoin {

namespace {

constexpr uint64_t kRoundsUntilStale = 4;

bool is_same(const ChunkColumn& a, const ChunkColumn& b) {
    return memcmp(a.identity, b.identity, sizeof a.identity) == 0 && a.spec.type == b.spec.type &&
           a.spec.order == b.spec.order;
}

const KeptValues* find_column(const KeptChunk& chunk, const ChunkColumn& wanted) {
    auto found = std::ranges::find_if(
        chunk.columns(), [&](const KeptValues& values) { return is_same(values.column, wanted); });
    return found == chunk.columns().end() ? nullptr : &*found;
}

bool has_column_of(const KeptChunk& chunk, const KeptChunk& other) {
    return std::ranges::any_of(other.columns(), [&](const KeptValues& values) {
        return find_column(chunk, values.column) != nullptr;
    });
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
    found.proof = entry.proof;
    found.map = &entry.map;
    clock_++;
    KeptView view;
    for (Part& part : entry.parts) {
        bool is_used = false;
        for (size_t i = 0; i < columns.size(); i++)
            if (!found.has[i] && find_column(*part.chunk, columns[i])) is_used = found.has[i] = true;
        if (!is_used && !columns.empty()) continue;
        part.used_at = clock_;
        part.uses++;
        view.chunks.push_back(part.chunk);
    }
    if (std::ranges::find(found.has, false) != found.has.end()) return found;
    for (const ChunkColumn& column : columns)
        for (const auto& chunk : view.chunks)
            if (const KeptValues* values = find_column(*chunk, column)) {
                view.columns.push_back(values);
                break;
            }
    found.view = std::move(view);
    return found;
}

// False where none is stale.
bool KeptStore::drop_stalest() {
    size_t parts = 0;
    Entry* oldest = nullptr;
    ChunkKey key{};
    size_t number = 0;
    for (auto& [other, entry] : entries_)
        for (size_t i = 0; i < entry.parts.size(); i++, parts++)
            if (!oldest || entry.parts[i].used_at < oldest->parts[number].used_at) {
                oldest = &entry;
                key = other;
                number = i;
            }
    if (!oldest || clock_ - oldest->parts[number].used_at <= kRoundsUntilStale * parts) return false;
    oldest->parts.erase(oldest->parts.begin() + static_cast<ptrdiff_t>(number));
    if (oldest->parts.empty()) entries_.erase(key);
    return true;
}

// Parts that are in use take their memory along.
bool KeptStore::make_room(uint64_t bytes) {
    if (bytes > memory_.limit()) return false;
    while (memory_.used() > memory_.limit() - bytes)
        if (!drop_stalest()) return false;
    return true;
}

std::shared_ptr<KeptChunk> KeptStore::make(const ChunkKey& key, std::span<const ChunkColumn> columns,
                                           uint64_t bytes) {
    if (making_.contains(key) || bytes > memory_.limit() || !make_room(bytes + KeptChunk::kFixedBytes))
        return nullptr;
    auto chunk = std::make_shared<KeptChunk>(columns, &memory_);
    making_.insert(key);
    return chunk;
}

// Of a patch's columns that are there already those are wanted that were made later: what proves it is when.
bool KeptStore::may_join(const ChunkKey& key, const Entry& entry, const ChunkProof& proof,
                         const ChunkMap& map, const KeptChunk& chunk) {
    const bool is_later = key.is_patch() && std::ranges::any_of(entry.parts, [&](const Part& part) {
                              return has_column_of(*part.chunk, chunk);
                          });
    return !is_later && !entry.parts.empty() && entry.proof.version == proof.version &&
           memcmp(&entry.map, &map, sizeof map) == 0 && entry.parts.front().chunk->has_rows_of(chunk);
}

KeptStore::Parts KeptStore::parts_to_cut(const ChunkKey& key, const ChunkProof& proof, const ChunkMap& map,
                                         const KeptChunk& chunk) const {
    const auto here = entries_.find(key);
    if (here == entries_.end() || here->second.proof.version != proof.version ||
        !here->second.map.contains(map))
        return {};
    Parts parts;
    for (const Part& part : here->second.parts) {
        if (has_column_of(*part.chunk, chunk)) return {};
        parts.push_back(part.chunk);
    }
    return parts;
}

// If they are still those that are there: their other rows are let go.
void KeptStore::use_cut_parts(Entry& entry, const Parts& parts, const Parts& cut, const ChunkMap& map) {
    const bool are_same = std::ranges::equal(entry.parts, parts, {}, &Part::chunk);
    if (!are_same || cut.size() != parts.size() || std::ranges::find(cut, nullptr) != cut.end() ||
        !entry.map.contains(map))
        return;
    for (size_t i = 0; i < cut.size(); i++) entry.parts[i].chunk = cut[i];
    entry.map = map;
}

// What was made later is true since later.
void KeptStore::put(const ChunkKey& key, const ChunkProof& proof, const ChunkMap& map,
                    std::shared_ptr<KeptChunk> chunk, const Parts& parts, const Parts& cut) {
    making_.erase(key);
    Entry& entry = entries_[key];
    use_cut_parts(entry, parts, cut, map);
    const bool joins = may_join(key, entry, proof, map, *chunk);
    const bool is_stale = !entry.parts.empty() && !joins && fault_due(FaultPoint::Stale);
    if (!joins && !is_stale) entry.parts.clear();
    if (!joins && !key.is_patch()) entries_.erase(key.patch());
    const uint64_t since = joins ? std::min(entry.proof.since, proof.since) : proof.since;
    entry.proof = {proof.version, since};
    entry.map = map;
    if (!is_stale) entry.parts.push_back({std::move(chunk), ++clock_, 0});
}

void KeptStore::renew(const ChunkKey& key, uint64_t version_before, const ChunkProof& proof,
                      const ChunkMap& map) {
    const auto here = entries_.find(key);
    if (here == entries_.end() || here->second.proof.version != version_before) return;
    Entry& entry = here->second;
    entry.proof = proof;
    for (uint32_t i = 0; i < kChunkMapBytes; i++) entry.map.bits[i] &= map.bits[i];
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
        for (const Part& part : entry.parts) {
            columns += static_cast<uint32_t>(part.chunk->columns().size());
            table.bytes += part.chunk->bytes();
            table.uses = std::max(table.uses, part.uses);
        }
        if (!key.is_patch()) table.table.number++;
        table.rows += entry.parts.front().chunk->rows();
        table.columns = std::max(table.columns, columns);
    }
}

}  // namespace gpujoin
