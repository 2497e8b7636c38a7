// ResidentColumns: columns of kept chunks that lie in a device's memory, too, so that scans need not bring
// them there again. They are in the joins' memory, a part of it at most, and go when joins want it. Those
// that nobody has used for long make room for others; where all are in use, scans read the rest from host
// memory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "cuda/work/work.h"
#include "engine/kept/kept_chunk.h"

namespace gpujoin::cuda {

// Pointers are device memory.
struct ResidentColumn {
    const std::byte* values = nullptr;  // of fixed types, or codes; nullptr where all codes are 0
    const uint32_t* starts = nullptr;   // Bytes: where each entry begins in data, and the end
    const std::byte* data = nullptr;    // Bytes
    const uint8_t* validity = nullptr;  // nullptr: no NULLs

  private:
    friend class ResidentColumns;
    std::weak_ptr<const KeptChunk> chunk;  // that it is of
    uint64_t used_at = 0;
    std::mutex loading;
    bool is_loaded = false;
    DeviceArray<std::byte> memory;
};

class ResidentColumns {
  public:
    explicit ResidentColumns(DevicePool* pool);

    // A column of a chunk, which stays where it is as long as it is held. Waits for the stream where it has
    // to be brought there. Fault::DeviceMemory where there is no room. Thread-safe.
    Status find(const WorkContext& context, const std::shared_ptr<const KeptChunk>& chunk,
                const KeptValues& values, std::shared_ptr<const ResidentColumn>* column);

    // Gives up columns that nobody holds, those first that were used least lately, until that has freed so
    // many bytes, or there are none. Thread-safe.
    void give_up(uint64_t bytes);

    uint64_t bytes() const { return ledger_.used(); }

  private:
    using Columns = std::map<const KeptValues*, std::shared_ptr<ResidentColumn>>;

    std::shared_ptr<ResidentColumn> take(const std::shared_ptr<const KeptChunk>& chunk,
                                         const KeptValues& values);
    Status load(const WorkContext& context, const KeptValues& values, ResidentColumn* column);
    void make_room(uint64_t bytes);
    Columns::iterator find_stalest();

    Ledger ledger_;
    MemoryAccount account_;
    std::mutex mutex_;  // of what follows
    uint64_t clock_ = 0;
    Columns columns_;
};

}  // namespace gpujoin::cuda
