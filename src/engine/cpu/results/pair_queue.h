// PairQueue: result rows that were found and not yet written, as (probe row, build row), in probe order. A
// cursor fills it a little beyond what the sink takes; what is left starts the next result.
#pragma once

#include <cstdint>
#include <cstring>

#include "engine/cpu/memory/host_array.h"
#include "wire/batch.h"

namespace gpujoin::cpu {

inline constexpr uint32_t kNoRow = ~uint32_t{0};  // no probe row, or no build row

class PairQueue {
  public:
    // One call of a producer adds at most this many pairs.
    static constexpr uint32_t kMostPushed = 8192;

    // The least room is not charged: a join that has used up its memory can still be probed.
    Status open(Ledger* ledger) {
        constexpr uint64_t kSpared = kMostPushed * sizeof(uint32_t);
        GPUJOIN_RETURN_IF_FAILED(probe_.reserve(ledger, kMostPairs * sizeof(uint32_t), kSpared));
        return build_.reserve(ledger, kMostPairs * sizeof(uint32_t), kSpared);
    }

    // Makes room for kMostPushed more pairs.
    Status make_room() {
        GPUJOIN_RETURN_IF_FAILED(probe_.grow((end_ + kMostPushed) * sizeof(uint32_t)));
        return build_.grow((end_ + kMostPushed) * sizeof(uint32_t));
    }

    // All the room that can be made at once, after make_room(); what is written there is added.
    struct Room {
        uint32_t* probe;
        uint32_t* build;
        uint64_t pairs;
    };
    Status make_all_room(Room* room) {
        Status grown = probe_.grow(kMostPairs * sizeof(uint32_t));
        if (grown.ok()) grown = build_.grow(kMostPairs * sizeof(uint32_t));
        if (!grown.ok() && grown.fault != Fault::HostMemory) return grown;
        *room = {probe_.as<uint32_t>() + end_, build_.as<uint32_t>() + end_,
                 grown.ok() ? kMostPairs - end_ : kMostPushed};
        return {};
    }
    void add(uint64_t pairs) { end_ += pairs; }

    void push(uint32_t probe, uint32_t build) {
        probe_.as<uint32_t>()[end_] = probe;
        build_.as<uint32_t>()[end_] = build;
        end_++;
    }
    // Pushes the pair if `wanted`, without a branch.
    void push_if(bool wanted, uint32_t probe, uint32_t build) {
        probe_.as<uint32_t>()[end_] = probe;
        build_.as<uint32_t>()[end_] = build;
        end_ += wanted;
    }

    void pop(uint64_t pairs) { begin_ += pairs; }
    void clear() { begin_ = end_ = 0; }
    // Drops the pairs of probe rows before `row`.
    void drop_before(uint32_t row) {
        while (begin_ < end_ && probe()[0] < row) begin_++;
    }
    // Moves what is left to the front.
    void compact() {
        std::memmove(probe_.as<uint32_t>(), probe(), size() * sizeof(uint32_t));
        std::memmove(build_.as<uint32_t>(), build(), size() * sizeof(uint32_t));
        end_ -= begin_;
        begin_ = 0;
    }

    uint64_t size() const { return end_ - begin_; }
    const uint32_t* probe() const { return probe_.as<uint32_t>() + begin_; }
    const uint32_t* build() const { return build_.as<uint32_t>() + begin_; }

  private:
    static constexpr uint64_t kMostPairs = uint64_t{kMaxBatchRows} + 2 * kMostPushed;

    HostArray probe_;
    HostArray build_;
    uint64_t begin_ = 0;
    uint64_t end_ = 0;
};

}  // namespace gpujoin::cpu
