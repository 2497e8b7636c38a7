// The owners of every 64th slot.
#include "cuda/results/load_balance.h"

#include "cuda/work/launch.cuh"

namespace gpujoin::cuda {

namespace {

Status find_tiles(const WorkContext& context, const uint64_t* starts, uint64_t owners, uint64_t first,
                  uint64_t slots, uint64_t tiles, uint32_t* owner_of) {
    return for_each(context.handle(), tiles, [=] __device__(uint64_t tile) {
        uint64_t slot = tile * kOwnerTile < slots ? tile * kOwnerTile : slots - 1;
        owner_of[tile] = static_cast<uint32_t>(find_owner(starts, owners, first + slot));
    });
}

}  // namespace

Status OwnerTiles::find(const WorkContext& context, const uint64_t* starts, uint64_t owners, uint64_t first,
                        uint64_t slots) {
    uint64_t tiles = (slots + kOwnerTile - 1) / kOwnerTile + 1;
    GPUJOIN_RETURN_IF_FAILED(tiles_.reserve(context.account, tiles, context.handle()));
    starts_ = starts;
    first_ = first;
    return find_tiles(context, starts, owners, first, slots, tiles, tiles_.data());
}

}  // namespace gpujoin::cuda
