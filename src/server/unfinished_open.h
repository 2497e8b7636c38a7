// UnfinishedOpen: the packed fragment of an Open that comes in parts, until all have. Held in private memory,
// which is charged as a whole from the first part on: a client may never send the last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/ledger.h"
#include "wire/message.h"

namespace gpujoin {

class UnfinishedOpen {
  public:
    UnfinishedOpen(const OpenBody& body, Ledger* memory, Ledger* reserve)
        : body_(body), memory_(body.bytes, memory, reserve, body.bytes) {}

    // The next bytes: no more than the Open said (08P01), and only where there is memory for all (53200).
    Status add(std::span<const std::byte> part);
    bool is_complete() const { return packed_.size() == body_.bytes; }

    const OpenBody& body() const { return body_; }
    std::span<const std::byte> packed() const { return packed_; }

  private:
    const OpenBody body_;
    Ledger memory_;
    std::vector<std::byte> packed_;
};

}  // namespace gpujoin
