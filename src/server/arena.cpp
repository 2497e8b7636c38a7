// The arena's memfd and the two allocators over it.
#include "server/arena.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "fault/fault.h"

namespace gpujoin {

namespace {

constexpr uint64_t kReturnedPiece = 16u << 20;

// Address space for the overflow region: twice what may be used, so that fragments do not matter.
uint64_t overflow_bytes(const Ledger& host_memory, const Ledger* reserve) {
    constexpr uint64_t kMost = uint64_t{1} << 44;
    uint64_t bytes = 2 * std::min(host_memory.limit(), kMost / 2);
    if (reserve) bytes += 2 * std::min(reserve->limit(), kMost / 2);
    return bytes / Arena::kOverflowUnit * Arena::kOverflowUnit;
}

Status memory_failure(const char* what) {
    return failure(Fault::Error, "58000", "could not %s shared memory: %s", what, strerror(errno));
}

}  // namespace

Arena::Arena(uint64_t staging_bytes, Ledger* host_memory, Ledger* reserve)
    : staging_bytes_(staging_bytes / kBlockBytes * kBlockBytes),
      bytes_(staging_bytes_ + overflow_bytes(*host_memory, reserve)),
      host_memory_(host_memory),
      reserve_(reserve),
      lent_(reserve ? reserve->limit() / 2 : 0, reserve) {}

Arena::~Arena() {
    if (memory_) munmap(memory_, bytes_);
}

Status Arena::create(uint64_t staging_bytes, Ledger* host_memory, Ledger* reserve,
                     std::unique_ptr<Arena>* arena) {
    std::unique_ptr<Arena> made(new Arena(staging_bytes, host_memory, reserve));
    GPUJOIN_RETURN_IF_FAILED(made->map());
    made->backed_.resize(made->staging_bytes_ / kBlockBytes);
    made->free_blocks_.reserve(made->backed_.size());
    // The first blocks are granted first.
    for (uint64_t end = made->staging_bytes_; end > 0; end -= kBlockBytes)
        made->free_blocks_.push_back({end - kBlockBytes, 0});
    if (made->bytes_ > made->staging_bytes_)
        made->free_overflow_[made->staging_bytes_] = {made->bytes_ - made->staging_bytes_, nullptr};
    *arena = std::move(made);
    return {};
}

Status Arena::map() {
    fd_ = UniqueFd(memfd_create("gpujoin", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd_) return memory_failure("create");
    if (ftruncate(fd_.get(), static_cast<off_t>(bytes_)) != 0) return memory_failure("size");
    if (fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return memory_failure("seal");
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_.get(), 0);
    if (memory == MAP_FAILED) return memory_failure("map");
    memory_ = static_cast<std::byte*>(memory);
    madvise(memory_, bytes_, MADV_DONTDUMP);
    while (id_ == 0)
        if (getrandom(&id_, sizeof id_, 0) != sizeof id_) return memory_failure("name");
    return {};
}

std::optional<BlockRange> Arena::grant(uint64_t bytes, pid_t process, Borrowing borrowing) {
    if (fault_due(FaultPoint::Grant)) return std::nullopt;
    if (bytes <= kBlockBytes)
        if (auto block = take_pinned(process)) return block;
    return take_overflow(bytes, borrowing);
}

void Arena::release(const BlockRange& range, pid_t process) noexcept {
    if (range.offset < staging_bytes_)
        free_blocks_.push_back({range.offset, process});
    else
        returned_overflow_.insert(taken_overflow_.extract(range.offset));
}

bool Arena::reserve(const BlockRange& range) const {
    for (uint64_t done = 0; done < range.bytes; done += kOverflowUnit)
        if (!reserve_piece(range, done)) return false;
    return true;
}

bool Arena::reserve_piece(const BlockRange& range, uint64_t done) const {
    uint64_t piece = std::min(range.bytes - done, kOverflowUnit);
    int outcome;
    do outcome = fallocate(fd_.get(), 0, static_cast<off_t>(range.offset + done), static_cast<off_t>(piece));
    while (outcome != 0 && errno == EINTR);
    return outcome == 0;
}

bool Arena::reserve_staging() {
    if (!reserve({0, staging_bytes_})) return false;
    std::ranges::fill(backed_, kBlockBytes);
    return true;
}

uint64_t Arena::backed(const BlockRange& range) const {
    return range.offset < staging_bytes_ ? std::min(backed_[range.offset / kBlockBytes], range.bytes) : 0;
}

void Arena::set_backed(const BlockRange& range, uint64_t bytes) {
    if (range.offset < staging_bytes_) backed_[range.offset / kBlockBytes] = bytes;
}

std::optional<BlockRange> Arena::take_pinned(pid_t process) {
    if (free_blocks_.empty()) return std::nullopt;
    auto found = std::find_if(free_blocks_.rbegin(), free_blocks_.rend(),
                              [&](const FreeBlock& block) { return block.last_process == process; });
    auto chosen = found == free_blocks_.rend() ? std::prev(free_blocks_.end()) : std::prev(found.base());
    BlockRange range{chosen->offset, kBlockBytes};
    free_blocks_.erase(chosen);
    return range;
}

// Who pays; nullptr: nobody can.
Ledger* Arena::charge(uint64_t bytes, Borrowing borrowing) {
    for (;;) {
        if (host_memory_->charge(bytes)) return host_memory_;
        if (give_back_piece()) continue;
        if (borrowing == Borrowing::None || !reserve_) return nullptr;
        Ledger* lender = borrowing == Borrowing::Lent ? &lent_ : reserve_;
        return lender->charge(bytes) ? lender : nullptr;
    }
}

std::optional<BlockRange> Arena::take_overflow(uint64_t bytes, Borrowing borrowing) {
    const uint64_t most_lent = borrowing == Borrowing::Lent ? lent_.limit() : 0;
    if (bytes > std::max(host_memory_->limit(), most_lent)) return std::nullopt;
    bytes = std::max<uint64_t>((bytes + kOverflowUnit - 1) / kOverflowUnit, 1) * kOverflowUnit;
    OverflowRanges book{{0, {bytes, nullptr}}};
    Ledger* payer = charge(bytes, borrowing);
    if (!payer) return std::nullopt;
    auto fits = find_overflow(bytes);
    while (fits == free_overflow_.end() && give_back_piece()) fits = find_overflow(bytes);
    if (fits == free_overflow_.end()) {
        payer->release(bytes);
        return std::nullopt;
    }
    uint64_t offset = fits->first;
    auto taken = book.extract(book.begin());
    taken.key() = offset;
    taken.mapped().payer = payer;
    taken_overflow_.insert(std::move(taken));
    auto rest = free_overflow_.extract(fits);
    rest.key() += bytes;
    rest.mapped().bytes -= bytes;
    if (rest.mapped().bytes > 0) free_overflow_.insert(std::move(rest));
    return BlockRange{offset, bytes};
}

Arena::OverflowRanges::iterator Arena::find_overflow(uint64_t bytes) {
    return std::find_if(free_overflow_.begin(), free_overflow_.end(),
                        [&](const auto& range) { return range.second.bytes >= bytes; });
}

bool Arena::give_back_piece() noexcept {
    if (!has_to_give_back()) return false;
    if (returning_.empty()) {
        returning_ = returned_overflow_.extract(returned_overflow_.begin());
        returning_done_ = 0;
    }
    uint64_t piece = std::min(returning_.mapped().bytes - returning_done_, kReturnedPiece);
    fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              static_cast<off_t>(returning_.key() + returning_done_), static_cast<off_t>(piece));
    returning_.mapped().payer->release(piece);
    returning_done_ += piece;
    if (returning_done_ == returning_.mapped().bytes) add_free_overflow(std::exchange(returning_, {}));
    return true;
}

// Neighbours are merged.
void Arena::add_free_overflow(OverflowRanges::node_type range) noexcept {
    auto here = free_overflow_.insert(std::move(range)).position;
    if (auto next = std::next(here);
        next != free_overflow_.end() && here->first + here->second.bytes == next->first) {
        here->second.bytes += next->second.bytes;
        free_overflow_.erase(next);
    }
    if (here == free_overflow_.begin()) return;
    if (auto before = std::prev(here); before->first + before->second.bytes == here->first) {
        before->second.bytes += here->second.bytes;
        free_overflow_.erase(here);
    }
}

}  // namespace gpujoin
