// Packed fragments: how a FragmentSpec and its stages travel. Of each struct its counts come first, then of
// each array the elements in use, one after the other and not aligned: some hundred bytes for most fragments,
// of the two hundred thousand that the structs take. The stages follow without a gap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/fragment_spec.h"
#include "wire/status.h"

namespace gpujoin {

inline constexpr uint32_t kMaxPackedFragmentBytes = sizeof(FragmentSpec) + kMaxStages * sizeof(StageSpec);

// How large a fragment is when packed. Its counts must be within their limits.
uint32_t packed_bytes(const FragmentView& fragment);

// Packs a fragment into packed_bytes() bytes of buffer, and returns how many those are.
uint32_t pack(const FragmentView& fragment, std::byte* buffer);

// Takes a fragment out of packed bytes that come from the other side: as many stages as there is room for, no
// byte more and none less (08P01). What was not sent is zero, but for programs of the sink beyond those in
// use, which stay as they are. What a fragment says is for validate() to check.
Status unpack(std::span<const std::byte> packed, FragmentSpec* spec, std::span<StageSpec> stages);

}  // namespace gpujoin
