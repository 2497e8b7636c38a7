// KeptStore: the chunks of tables that are kept, by what they are of, and the memory for them. A chunk's
// columns come in parts, each as they were made together. When others want room, parts that are stale go,
// those that were used least lately first: the store has been asked since for several times as much as it
// has. So tables that do not fit together do not take turns in driving each other out. A part that is in use
// goes when its users have done. The event thread's alone, but for the ledger.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "engine/kept/kept_view.h"
#include "wire/message.h"

namespace gpujoin {

class KeptStore {
  public:
    // limit: bytes; 0: nothing is kept.
    explicit KeptStore(uint64_t limit) : memory_(limit) {}
    uint64_t limit() const { return memory_.limit(); }

    // What there is of a chunk: whether it is there at all, what proves it, and which of the columns it has.
    struct Found {
        bool exists = false;
        ChunkProof proof{};
        const ChunkMap* map = nullptr;  // the store's
        std::vector<bool> has;          // by column
        KeptView view;                  // where it has all of them
    };
    Found find(const ChunkKey& key, std::span<const ChunkColumn> columns);

    // A chunk to be filled by one who has said that it takes about so many bytes; nullptr where somebody else
    // fills one of the same key, or there is no room. To be ended by put() or give_up().
    std::shared_ptr<KeptChunk> make(const ChunkKey& key, std::span<const ChunkColumn> columns,
                                    uint64_t bytes);
    void give_up(const ChunkKey& key) { making_.erase(key); }
    // The other columns that are there, where those of a chunk could join them if they were cut to its
    // blocks; else none.
    using Parts = std::vector<std::shared_ptr<const KeptChunk>>;
    Parts parts_to_cut(const ChunkKey& key, const ChunkProof& proof, const ChunkMap& map,
                       const KeptChunk& chunk) const;
    // Its columns join others that are there, if these have the same version, and the same map and rows, or
    // were cut to its blocks; else they replace all that is there, and the chunk's patch goes. cut: of
    // parts_to_cut(), in their order; nullptr where one could not be cut.
    void put(const ChunkKey& key, const ChunkProof& proof, const ChunkMap& map,
             std::shared_ptr<KeptChunk> chunk, const Parts& parts = {}, const Parts& cut = {});
    // Gives a chunk of one version another proof, for some of its blocks. Of the others it has rows, but
    // proves nothing any more.
    void renew(const ChunkKey& key, uint64_t version_before, const ChunkProof& proof, const ChunkMap& map);

    // All chunks of a table; of relation 0 of all tables.
    void forget(const ChunkKey& table);
    void describe(KeptTablesBody* body) const;

  private:
    struct Part {
        std::shared_ptr<const KeptChunk> chunk;
        uint64_t used_at = 0;
        uint64_t uses = 0;
    };
    struct Entry {
        ChunkProof proof{};
        ChunkMap map{};
        std::vector<Part> parts;
    };

    static bool may_join(const ChunkKey& key, const Entry& entry, const ChunkProof& proof,
                         const ChunkMap& map, const KeptChunk& chunk);
    static void use_cut_parts(Entry& entry, const Parts& parts, const Parts& cut, const ChunkMap& map);
    bool make_room(uint64_t bytes);
    bool drop_stalest();

    Ledger memory_;  // outlives the chunks
    std::map<ChunkKey, Entry> entries_;
    std::set<ChunkKey> making_;
    uint64_t clock_ = 0;
};

}  // namespace gpujoin
