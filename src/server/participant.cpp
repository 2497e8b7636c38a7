// The books on who has which block.
#include "server/participant.h"

#include <algorithm>

#include "server/resources.h"

namespace gpujoin {

namespace {

Status not_yours(uint64_t offset) {
    return failure(Fault::Protocol, "08P01", "malformed message")
        .with_detail("The block at %llu is not the client's to give.",
                     static_cast<unsigned long long>(offset));
}

}  // namespace

Participant::~Participant() {
    tasks.clear();
    drop_blocks();
}

Status Participant::hold(uint64_t bytes, Use use, BlockRange* range) {
    auto granted = arena_->grant(bytes, connection.peer_process());
    if (!granted) return out_of_host_memory();
    held_[granted->offset] = Held{*granted, use, false};
    *range = *granted;
    return {};
}

Status Participant::hold_minimum(BlockRange (&input)[kMinimumBlocks]) {
    Status status;
    BlockRange result;
    for (size_t i = 0; i < kMinimumBlocks && status.ok(); i++) {
        status = hold(0, Use::ClientsInput, &input[i]);
        if (status.ok()) status = hold(0, Use::FreeResult, &result);
    }
    if (!status.ok()) drop_blocks();
    return status;
}

Status Participant::hold_input(uint64_t bytes, BlockRange* range) {
    auto is_input = [](const auto& held) { return held.second.use <= Use::ServersInput; };
    if (std::count_if(held_.begin(), held_.end(), is_input) >= static_cast<ptrdiff_t>(kMaxInputBlocks))
        return failure(Fault::HostMemory, "53200", "too many blocks are held by one participant of a join");
    return hold(bytes, Use::ClientsInput, range);
}

Status Participant::hand_over(const BlockRange& range) {
    auto held = held_.find(range.offset);
    if (held == held_.end() || held->second.use != Use::ClientsInput ||
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
    if (held == held_.end()) return not_yours(offset);
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
        if (held.use == Use::FreeResult) blocks->push_back(take(held));
    return {};
}

Status Participant::take_large_result_block(uint64_t bytes, std::vector<ResultBlock>* blocks) {
    auto is_large = [](const auto& held) { return held.second.large_result; };
    if (std::count_if(held_.begin(), held_.end(), is_large) >= static_cast<ptrdiff_t>(kMinimumBlocks))
        return {};
    BlockRange range;
    GPUJOIN_RETURN_IF_FAILED(hold(bytes, Use::FreeResult, &range));
    Held& held = held_[range.offset];
    held.large_result = true;
    blocks->push_back(take(held));
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
    while (!held_.empty()) release(held_.begin());
}

}  // namespace gpujoin
