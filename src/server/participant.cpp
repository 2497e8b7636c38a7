// The books on who has which block.
#include "server/participant.h"

#include <algorithm>
#include <iterator>

#include "server/resources.h"

namespace gpujoin {

namespace {

Status not_yours(uint64_t offset) {
    return malformed("message").with_detail("The block at %llu is not the client's to give.",
                                            static_cast<unsigned long long>(offset));
}

}  // namespace

Participant::~Participant() {
    tasks.clear();
    drop_blocks();
}

// is_sure: there is none like it, so that who asks for it cannot go on without.
Status Participant::hold(uint64_t bytes, Use use, bool is_sure, uint64_t* offset) {
    const bool may_borrow = is_sure || is_lent_memory;
    return hold_range(bytes, use, may_borrow ? Borrowing::Lent : Borrowing::None, offset);
}

Status Participant::hold_range(uint64_t bytes, Use use, Borrowing borrowing, uint64_t* offset) {
    // The books first: with a range in hand, nothing may be in the way of writing it down.
    std::map<uint64_t, Held> book{{0, Held{}}};
    bare_.reserve(bare_.size() + 1);
    auto granted = arena_->grant(bytes, connection.peer_process(), borrowing);
    if (!granted) return out_of_host_memory();
    uint64_t backed = arena_->backed(*granted);
    auto entry = book.extract(book.begin());
    entry.key() = granted->offset;
    entry.mapped() = Held{*granted, use, false, backed < granted->bytes};
    if (entry.mapped().bare) bare_.push_back({*granted, std::max(bytes, Arena::kOverflowUnit), backed});
    held_.insert(std::move(entry));
    if (offset) *offset = granted->offset;
    return {};
}

Status Participant::hold_minimum() {
    Status status;
    for (size_t i = 0; i < kMinimumBlocks && status.ok(); i++) {
        status = hold_range(0, Use::ClientsInput, Borrowing::Minimum, nullptr);
        if (status.ok()) status = hold_range(0, Use::FreeResult, Borrowing::Minimum, nullptr);
    }
    if (!status.ok()) drop_blocks();
    return status;
}

void Participant::first_input(BlockRange (&input)[kMinimumBlocks]) const {
    BlockRange* next = input;
    for (const auto& [offset, held] : held_)
        if (held.use == Use::ClientsInput && next < std::end(input)) *next++ = held.range;
}

Status Participant::settle(const std::vector<Backing>& backings) {
    Status status;
    for (const Backing& backing : backings) {
        auto here = held_.find(backing.range.offset);
        arena_->set_backed(backing.range, backing.bytes);
        here->second.bare = false;
        if (backing.bytes >= backing.least) {
            here->second.range.bytes = backing.bytes;
        } else {
            release(here);
            status = out_of_machine_memory();
        }
    }
    return status;
}

Status Participant::hold_input(uint64_t bytes, uint64_t* offset) {
    auto is_input = [](const auto& held) { return held.second.use <= Use::ServersInput; };
    if (std::count_if(held_.begin(), held_.end(), is_input) >= static_cast<ptrdiff_t>(kMaxInputBlocks))
        return failure(Fault::HostMemory, "53200", "too many blocks are held by one participant of a join");
    auto is_large = [&](const auto& held) {
        return is_input(held) && held.second.range.bytes > Arena::kBlockBytes;
    };
    const bool is_sure = bytes > Arena::kBlockBytes && std::ranges::none_of(held_, is_large);
    return hold(bytes, Use::ClientsInput, is_sure, offset);
}

Status Participant::hand_over(const BlockRange& range) {
    auto held = held_.find(range.offset);
    if (held == held_.end() || held->second.bare || held->second.use != Use::ClientsInput ||
        range.bytes > held->second.range.bytes)
        return not_yours(range.offset);
    held->second.use = Use::ServersInput;
    return {};
}

void Participant::hand_back(const BlockRange& range) {
    held_.at(range.offset).use = Use::ClientsInput;
}

Status Participant::take_back(uint64_t offset) {
    auto held = held_.find(offset);
    if (held == held_.end() || held->second.bare) return not_yours(offset);
    if (held->second.use == Use::ClientsInput ||
        (held->second.use == Use::ClientsResult && held->second.large_result))
        release(held);
    else if (held->second.use == Use::ClientsResult)
        held->second.use = Use::FreeResult;
    else
        return not_yours(offset);
    return {};
}

Status Participant::take_result_blocks(uint64_t bytes_needed, std::vector<ResultBlock>* blocks) {
    if (bytes_needed > 0) return take_large_result_block(bytes_needed, blocks);
    for (auto& [offset, held] : held_)
        if (held.use == Use::FreeResult && !held.bare) blocks->push_back(take(held));
    return {};
}

Status Participant::take_large_result_block(uint64_t bytes, std::vector<ResultBlock>* blocks) {
    size_t others = 0;
    for (auto next = held_.begin(); next != held_.end();) {
        auto here = next++;
        Held& held = here->second;
        if (!held.large_result) continue;
        if (held.bare) return {};  // it comes with its pages
        bool is_free = held.use == Use::FreeResult;
        if (is_free && held.range.bytes < bytes) {
            release(here);  // of a row that is not wanted any more
        } else if (is_free && blocks->empty()) {
            blocks->push_back(take(held));
        } else {
            others++;
        }
    }
    if (!blocks->empty() || others >= kMinimumBlocks) return {};
    uint64_t offset;
    const Status status = hold(bytes, Use::FreeResult, others == 0, &offset);
    if (!status.ok()) return others > 0 ? Status{} : status;  // the other one comes back
    Held& held = held_.at(offset);
    held.large_result = true;
    if (!held.bare) blocks->push_back(take(held));
    return {};
}

ResultBlock Participant::take(Held& held) {
    held.use = Use::TakenResult;
    return {held.range, {arena_->at(held.range.offset), held.range.bytes, arena_->kind_of(held.range)}};
}

void Participant::hand_out_result(const BlockRange& range) {
    held_.at(range.offset).use = Use::ClientsResult;
}

void Participant::return_result_blocks() {
    for (auto held = held_.begin(); held != held_.end();) {
        auto here = held++;
        if (here->second.use != Use::TakenResult) continue;
        if (here->second.large_result)
            release(here);
        else
            here->second.use = Use::FreeResult;
    }
}

void Participant::release(std::map<uint64_t, Held>::iterator held) {
    arena_->release(held->second.range, connection.peer_process());
    held_.erase(held);
}

void Participant::drop_blocks() {
    bare_.clear();
    while (!held_.empty()) release(held_.begin());
}

}  // namespace gpujoin
