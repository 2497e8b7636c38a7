// Arena: the shared memory that batches and results travel in. One sealed memfd, mapped by the server and by
// its clients:
//
//   0 ........................ staging bytes ..................................... bytes
//   | pinned blocks of 4 MiB  | overflow: sparse, unpinned ranges of any size     |
//
// A grant never waits: a pinned block where one is free, else an overflow range, charged to the host-memory
// ledger (or the reserve's, where a client could not begin without it) and punched out of the memfd once it
// is released, else nothing. Blocks that the same process used last are preferred, because its first touch of
// others costs page faults.
//
// A range that was granted is not to be touched before it is backed: pages set aside for it, in pieces. A
// pinned block keeps the pages that it has. The pages of an overflow range are given back in pieces, since it
// takes the kernel a tenth of a second a gigabyte or more, and the charge with them; at once, where a grant
// wants them.
//
// Used by one thread, but for reserve().
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "engine/ledger.h"
#include "server/unique_fd.h"
#include "wire/batch.h"
#include "wire/message.h"
#include "wire/status.h"

namespace gpujoin {

// Of the reserve, where the other memory is used up.
enum class Borrowing {
    None,
    Lent,     // for a row that is larger than a block, or a join that cannot be divided any more
    Minimum,  // that a client needs
};

class Arena {
  public:
    static constexpr uint64_t kBlockBytes = 4u << 20;      // of a pinned block
    static constexpr uint64_t kOverflowUnit = 256u << 10;  // overflow ranges and pieces are multiples of it

    // staging_bytes is rounded down to whole blocks. Overflow ranges are charged to host_memory or reserve
    // (not owned; nullptr: there is no reserve), whose limits also bound the overflow region.
    static Status create(uint64_t staging_bytes, Ledger* host_memory, Ledger* reserve,
                         std::unique_ptr<Arena>* arena);
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    // A range of at least `bytes` bytes (0: a pinned block, or the smallest range), or nothing when the
    // memory is used up, and what may be borrowed is too.
    std::optional<BlockRange> grant(uint64_t bytes, pid_t process, Borrowing borrowing = Borrowing::None);
    // Takes back a range as it was granted, or the part of a pinned block that was backed. Takes no memory.
    void release(const BlockRange& range, pid_t process) noexcept;

    // Gives a piece of what was released back to the machine. False when there is none.
    bool give_back_piece() noexcept;
    bool has_to_give_back() const { return !returning_.empty() || !returned_overflow_.empty(); }

    // Has pages set aside for a granted range, or for the piece of it that begins at `done`. False when the
    // machine refuses them. Any thread.
    bool reserve(const BlockRange& range) const;
    bool reserve_piece(const BlockRange& range, uint64_t done) const;
    // How many bytes from the start of a granted range have pages: for set_backed() to remember.
    uint64_t backed(const BlockRange& range) const;
    void set_backed(const BlockRange& range, uint64_t bytes);
    // The same for all pinned blocks, before any was granted.
    bool reserve_staging();

    // What may be lent of the reserve: half of it, so that there is some for what every client needs.
    Ledger* lent() { return &lent_; }

    std::byte* at(uint64_t offset) const { return memory_ + offset; }
    Memory kind_of(const BlockRange& range) const {
        return pinned_ && range.offset < staging_bytes_ ? Memory::PinnedHost : Memory::Host;
    }
    void set_pinned() { pinned_ = true; }

    int fd() const { return fd_.get(); }
    uint64_t id() const { return id_; }
    uint64_t bytes() const { return bytes_; }
    uint64_t staging_bytes() const { return staging_bytes_; }
    uint64_t staging_used() const { return staging_bytes_ - free_blocks_.size() * kBlockBytes; }

  private:
    struct FreeBlock {
        uint64_t offset;
        pid_t last_process;
    };

    struct Overflow {
        uint64_t bytes;
        Ledger* payer;  // of one that is not free
    };
    using OverflowRanges = std::map<uint64_t, Overflow>;  // by offset

    Arena(uint64_t staging_bytes, Ledger* host_memory, Ledger* reserve);
    Status map();
    std::optional<BlockRange> take_pinned(pid_t process);
    std::optional<BlockRange> take_overflow(uint64_t bytes, Borrowing borrowing);
    Ledger* charge(uint64_t bytes, Borrowing borrowing);
    OverflowRanges::iterator find_overflow(uint64_t bytes);
    void add_free_overflow(OverflowRanges::node_type range) noexcept;

    UniqueFd fd_;
    uint64_t id_ = 0;
    const uint64_t staging_bytes_;
    const uint64_t bytes_;
    Ledger* const host_memory_;
    Ledger* const reserve_;
    Ledger lent_;
    std::byte* memory_ = nullptr;
    bool pinned_ = false;
    std::vector<FreeBlock> free_blocks_;  // last in, first out
    std::vector<uint64_t> backed_;        // bytes of each pinned block
    OverflowRanges free_overflow_;        // neighbours are merged
    OverflowRanges taken_overflow_;
    OverflowRanges returned_overflow_;     // to be given back
    OverflowRanges::node_type returning_;  // the one that is being, and how much of it was
    uint64_t returning_done_ = 0;
};

}  // namespace gpujoin
