// The join of sorted sides: the list of items, and the kernel that writes their pairs.
#include "cuda/merge/merge_join.h"

#include <algorithm>

#include "cuda/work/launch.cuh"
#include "cuda/work/primitives.h"
#include "cuda/results/slot_rule.cuh"
#include "cuda/work/warp_sum.cuh"
#include "engine/search.h"

namespace gpujoin::cuda {

namespace {

constexpr uint32_t kPiece = 16384;  // slots of an item
constexpr uint32_t kRounds = kTileSteps / kBlockThreads;
constexpr uint32_t kWarps = kBlockThreads / Warp::kThreads;
static_assert(kPiece >= kTileSteps, "a tile whose entries have one slot each is one item");
static_assert(kRounds * kWarps % Warp::kThreads == 0, "all lanes of a warp sum together");

// The item that a slot belongs to.
__device__ uint64_t item_of(const TileList& list, uint64_t slot) {
    uint64_t tile = find_owner(list.slot_starts, list.tiles, slot);
    return list.item_starts[tile] + (slot - list.slot_starts[tile]) / kPiece;
}

// items: one more than there are tiles.
Status count_items(const WorkContext& context, const uint64_t* slots, uint64_t tiles, uint64_t* items) {
    return for_each(context.handle(), tiles + 1,
                    [=] __device__(uint64_t tile) { items[tile] = (slots[tile] + kPiece - 1) / kPiece; });
}

// The tiles of items [first, first + items).
Status list_tiles(const WorkContext& context, const TileList& list, uint64_t first, uint64_t items,
                  uint32_t* tile_of) {
    return for_each(context.handle(), items, [=] __device__(uint64_t item) {
        tile_of[item] = static_cast<uint32_t>(find_owner(list.item_starts, list.tiles, first + item));
    });
}

// The items that have slots in [first, last).
Status find_range(const WorkContext& context, const TileList& list, uint64_t first, uint64_t last,
                  ItemRange* items) {
    return for_each(context.handle(), 1, [=] __device__(uint64_t) {
        *items = {item_of(list, first), item_of(list, last - 1) + 1};
    });
}

// Slots [first, last) are written.
template <typename Build, typename Probe>
struct PairWriter {
    const Build* build_payloads;
    const Probe* probe_payloads;
    Build* build_out;
    Probe* probe_out;
    uint64_t first;
    uint64_t last;

    // Of a position on the build side, or kNoRow.
    __device__ Build build_payload(uint32_t position) const {
        return position == kNoRow ? static_cast<Build>(kNoRow) : build_payloads[position];
    }
    __device__ void write(uint64_t slot, Build build, Probe probe) const {
        build_out[slot - first] = build;
        probe_out[slot - first] = probe;
    }
};

// The entries that a thread looks after: every kBlockThreads-th of the tile.
struct TileEntries {
    uint32_t begin[kRounds];  // position, or kNoRow
    uint32_t slots[kRounds];
    uint64_t offset[kRounds];  // of the first slot, from the tile's first
};

// What a block knows together.
struct TileMemory {
    uint64_t sums[kRounds * kWarps];  // slots before each warp's entries of each round
    uint32_t starts[kTileSteps];      // by entry: the first slot, from the piece's first
    uint32_t begins[kTileSteps];      // by entry: the position of that slot
};

// Writes the pairs of one item.
template <typename Build, typename Probe>
struct WriteItem {
    TileList list;
    const uint32_t* tile_of;  // by item
    uint64_t first_item;
    const uint8_t* has_counts;  // by tile
    const uint32_t* begin;
    const uint32_t* count;
    SlotRule rule;
    PairWriter<Build, Probe> writer;

    __device__ void operator()(uint64_t number) const {
        __shared__ TileMemory memory;
        uint64_t tile = tile_of[number];
        uint32_t first_entry = list.bounds[tile].entry;
        uint32_t entries = list.bounds[tile + 1].entry - first_entry;
        uint64_t tile_start = list.slot_starts[tile];
        uint64_t piece = tile_start + (first_item + number - list.item_starts[tile]) * kPiece;
        uint64_t from = max(piece, writer.first);
        uint64_t to = min(min(piece + kPiece, list.slot_starts[tile + 1]), writer.last);
        TileEntries own;
        bool has_many = load(first_entry, entries, has_counts[tile], &own);
        has_many = __syncthreads_or(has_many);
        sum(memory, has_many, &own);
        if (has_many)
            write_many(memory, own, first_entry, entries, from - tile_start, from, to);
        else
            write_singles(own, first_entry, tile_start, from, to);
    }

    // Returns whether an entry has more than one slot.
    __device__ bool load(uint32_t first_entry, uint32_t entries, bool counted, TileEntries* own) const {
        bool has_many = false;
#pragma unroll
        for (uint32_t round = 0; round < kRounds; round++) {
            uint32_t i = round * kBlockThreads + threadIdx.x;
            own->begin[round] = i < entries ? begin[first_entry + i] : kNoRow;
            own->slots[round] = own->begin[round] != kNoRow;
            if (counted && i < entries)
                own->slots[round] = static_cast<uint32_t>(slots_of(rule, count[first_entry + i]));
            has_many |= own->slots[round] > 1;
        }
        return has_many;
    }

    // Sums the slots of the tile's entries. has_many: one of them has more than one.
    __device__ static void sum(TileMemory& memory, bool has_many, TileEntries* own) {
        uint32_t lane = threadIdx.x % Warp::kThreads, warp = threadIdx.x / Warp::kThreads;
#pragma unroll
        for (uint32_t round = 0; round < kRounds; round++) {
            uint32_t slots = own->slots[round];
            uint64_t inclusive =
                has_many ? inclusive_warp_sum(uint64_t{slots}) : inclusive_warp_sum_of_few(slots);
            own->offset[round] = inclusive - slots;
            if (lane == Warp::kThreads - 1) memory.sums[round * kWarps + warp] = inclusive;
        }
        __syncthreads();
        if (warp == 0) {
            uint64_t before = 0;
            for (uint32_t i = lane; i < kRounds * kWarps; i += Warp::kThreads) {
                uint64_t own_sum = memory.sums[i];
                uint64_t inclusive = inclusive_warp_sum(own_sum);
                memory.sums[i] = before + inclusive - own_sum;
                before += __shfl_sync(kAllLanes, inclusive, Warp::kThreads - 1);
            }
        }
        __syncthreads();
#pragma unroll
        for (uint32_t round = 0; round < kRounds; round++)
            own->offset[round] += memory.sums[round * kWarps + warp];
    }

    // Where no entry has more than one slot, each is written by the thread that looks after it. Payloads are
    // read before any is written, so that the reads do not wait for each other.
    __device__ void write_singles(const TileEntries& own, uint32_t first_entry, uint64_t tile_start,
                                  uint64_t from, uint64_t to) const {
        Build build[kRounds];
        Probe probe[kRounds];
#pragma unroll
        for (uint32_t round = 0; round < kRounds; round++) {
            if (own.slots[round] == 0) continue;
            build[round] = writer.build_payload(own.begin[round]);
            probe[round] = writer.probe_payloads[first_entry + round * kBlockThreads + threadIdx.x];
        }
#pragma unroll
        for (uint32_t round = 0; round < kRounds; round++) {
            uint64_t slot = tile_start + own.offset[round];
            if (own.slots[round] && slot >= from && slot < to) writer.write(slot, build[round], probe[round]);
        }
    }

    // Else slots are handed out evenly. before: slots of the tile before `from`. An entry whose first slot
    // lies before that starts with the piece, at a later position; those after the piece start at its end.
    __device__ void write_many(TileMemory& memory, const TileEntries& own, uint32_t first_entry,
                               uint32_t entries, uint64_t before, uint64_t from, uint64_t to) const {
#pragma unroll
        for (uint32_t round = 0; round < kRounds; round++) {
            uint32_t i = round * kBlockThreads + threadIdx.x;
            if (i >= entries) continue;
            uint64_t offset = own.offset[round];
            uint64_t skipped = offset < before ? before - offset : 0;
            uint64_t start = offset < before ? 0 : offset - before;
            memory.starts[i] = static_cast<uint32_t>(min(start, uint64_t{kPiece}));
            memory.begins[i] =
                own.begin[round] == kNoRow ? kNoRow : own.begin[round] + static_cast<uint32_t>(skipped);
        }
        __syncthreads();
        auto slots = static_cast<uint32_t>(to - from);
        for (uint32_t slot = threadIdx.x; slot < slots; slot += kBlockThreads) {
            uint32_t i = find_owner(memory.starts, entries, slot);
            uint32_t position = memory.begins[i];
            if (position != kNoRow) position += slot - memory.starts[i];
            writer.write(from + slot, writer.build_payload(position), writer.probe_payloads[first_entry + i]);
        }
    }
};

}  // namespace

Status MergeMatcher::prepare(const WorkContext& context, const ProbeWork& work) {
    GPUJOIN_RETURN_IF_FAILED(find_sorted(context, work, probe_, &candidates_));
    probe_.forget_keys();
    uint64_t tiles = candidates_.tiles();
    uint64_t* slots = candidates_.slots.data();
    GPUJOIN_RETURN_IF_FAILED(item_starts_.allocate(context.account, tiles + 1, context.handle()));
    uint64_t* items = item_starts_.data();
    GPUJOIN_RETURN_IF_FAILED(count_items(context, slots, tiles, items));
    GPUJOIN_RETURN_IF_FAILED(exclusive_sum(context.account, context.handle(), slots, tiles + 1));
    GPUJOIN_RETURN_IF_FAILED(exclusive_sum(context.account, context.handle(), items, tiles + 1));
    GPUJOIN_RETURN_IF_FAILED(read_back(context, slots + tiles, &slots_));
    return read_back(context, items + tiles, &items_);
}

TileList MergeMatcher::tile_list() const {
    return {candidates_.bounds.data(), candidates_.slots.data(), item_starts_.data(), candidates_.tiles()};
}

// The items that have slots in [first, last).
Status MergeMatcher::find_items(const WorkContext& context, uint64_t first, uint64_t last,
                                ItemRange* items) const {
    *items = {0, items_};
    if (first == 0 && last == slots_) return {};
    DeviceArray<ItemRange> found;
    GPUJOIN_RETURN_IF_FAILED(found.allocate(context.account, 1, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(find_range(context, tile_list(), first, last, found.data()));
    return read_back(context, found.data(), items);
}

Status MergeMatcher::write(const WorkContext& context, const PayloadOutput& output, uint64_t first,
                           uint64_t last) const {
    ItemRange items;
    GPUJOIN_RETURN_IF_FAILED(find_items(context, first, last, &items));
    DeviceArray<uint32_t> tile_of;
    uint64_t count = items.end - items.begin;
    GPUJOIN_RETURN_IF_FAILED(tile_of.allocate(context.account, count, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(list_tiles(context, tile_list(), items.begin, count, tile_of.data()));
    const Candidates& found = candidates_.by_entry;
    auto write_as = [&](auto build, auto probe) {
        using Build = decltype(build);
        using Probe = decltype(probe);
        PairWriter<Build, Probe> writer{static_cast<const Build*>(build_->payloads()),
                                        static_cast<const Probe*>(probe_.payloads()),
                                        static_cast<Build*>(output.build),
                                        static_cast<Probe*>(output.probe),
                                        first,
                                        last};
        WriteItem<Build, Probe> body{
            tile_list(),        tile_of.data(),     items.begin, candidates_.has_counts.data(),
            found.begin.data(), found.count.data(), rule_,       writer};
        return for_each_block(context.handle(), count, body);
    };
    GPUJOIN_RETURN_IF_FAILED(with_payload_types(build_->payload().bytes, probe_.payload().bytes, write_as));
    return context.stream.synchronize();
}

Status MergeMatcher::run(const WorkContext& context, const PayloadOutput& output, uint64_t* rows,
                         bool* done) {
    uint64_t first = next_;
    next_ += std::min(output.capacity, slots_ - first);
    *rows = next_ - first;
    *done = next_ == slots_;
    return *rows ? write(context, output, first, next_) : Status{};
}

}  // namespace gpujoin::cuda
