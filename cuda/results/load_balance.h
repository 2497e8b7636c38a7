// Who owns each of a stretch of slots: the load-balanced search, in two steps. Every 64th slot's owner is
// searched among all, the owners of those between only among the few that lie between.
#pragma once

#include <cstdint>

#include "cuda/work/work.h"
#include "engine/host_device.h"
#include "engine/search.h"

namespace gpujoin::cuda {

inline constexpr uint64_t kOwnerTile = 64;

// As kernels see it.
struct OwnerView {
    const uint64_t* starts;
    const uint32_t* tiles;
    uint64_t first;

    // The owner of slot first + i.
    GPUJOIN_HD uint64_t owner(uint64_t i) const {
        uint64_t low = tiles[i / kOwnerTile];
        uint64_t high = tiles[i / kOwnerTile + 1];
        return low + find_owner(starts + low, high - low + 1, first + i);
    }
};

class OwnerTiles {
  public:
    // For slots [first, first + slots) of owners that own [starts[i], starts[i + 1]). slots > 0.
    Status find(const WorkContext& context, const uint64_t* starts, uint64_t owners, uint64_t first,
                uint64_t slots);
    OwnerView view() const { return {starts_, tiles_.data(), first_}; }

  private:
    const uint64_t* starts_ = nullptr;
    uint64_t first_ = 0;
    DeviceArray<uint32_t> tiles_;
};

}  // namespace gpujoin::cuda
