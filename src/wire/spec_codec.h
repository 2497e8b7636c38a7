// Packed join specs: how a JoinSpec travels. Its counts come first, then of each array the elements in use,
// one after the other and not aligned: some hundred bytes for most joins, of the twenty thousand that the
// struct takes. Several specs follow each other without a gap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/join_spec.h"
#include "wire/status.h"

namespace gpujoin {

inline constexpr uint32_t kMaxPackedSpecBytes = sizeof(JoinSpec);

// How large a spec is when packed. Its counts must be within their limits.
uint32_t packed_bytes(const JoinSpec& spec);

// Packs a spec into packed_bytes() bytes of buffer, and returns how many those are.
uint32_t pack(const JoinSpec& spec, std::byte* buffer);

// Takes specs out of packed bytes that come from the other side: as many as there is room for, no byte more
// and none less (08P01). What was not sent of a spec is zero. What a spec says is for validate() to check.
Status unpack(std::span<const std::byte> packed, std::span<JoinSpec> specs);

}  // namespace gpujoin
