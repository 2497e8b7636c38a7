// The place of fragments in host memory.
#pragma once

#include "engine/fragment/place.h"

namespace gpujoin {

std::unique_ptr<FragmentPlace> make_host_place(const Limits& limits);

}  // namespace gpujoin
