// Pairs of a nested loop: tiles of probe rows times build rows, tested as tiles.h says.
//
// A window is a number of probe rows and all build rows. It is first only counted: a thread holds the
// intervals of several probe rows in registers and runs over a tile of 4096 build keys, which all threads of
// a block read at the same time. The counts, one for each probe row and tile, become slots, and the tiles
// that have any are tested once more by a warp each, which writes the pairs in order.
#include <algorithm>
#include <memory>
#include <utility>

#include "cuda/launch.cuh"
#include "cuda/tiles.h"
#include "cuda/timer.h"
#include "cuda/window_source.h"

namespace gpujoin {

namespace {

constexpr uint64_t kTileKeys = 4096;
constexpr uint64_t kFirstWindow = uint64_t{1} << 30;  // pairs
constexpr uint64_t kLargestWindow = uint64_t{1} << 35;
constexpr double kWindowMilliseconds = 10.0;

// Several keys that are loaded at once.
template <typename Key>
struct alignas(16) KeyVector {
    static constexpr uint32_t kKeys = 16 / sizeof(Key);
    Key key[kKeys];
};

// Probe rows that one thread holds: as many as keep to the registers.
template <typename Key, uint32_t Tests>
constexpr uint32_t kRowsOfThread = Tests * sizeof(Key) <= 4   ? 8
                                   : Tests * sizeof(Key) <= 8 ? 4
                                                              : 2;

// What tiles look at.
template <typename Key, uint32_t Tests>
struct TileWindow {
    const Key* keys[Tests];
    uint64_t positions;
    uint64_t tiles;
    const Key* first;  // of intervals, by row
    const Key* width;
    const uint8_t* live;
    uint64_t rows;   // of the batch
    uint64_t begin;  // rows of the window
    uint64_t end;
    uint8_t* found;
    uint64_t* counts;  // by row of the window and tile; may be null

    __device__ bool holds(uint64_t row, uint64_t position) const {
        bool inside = true;
        for (uint32_t t = 0; t < Tests; t++)
            inside &= keys[t][position] - first[t * rows + row] <= width[t * rows + row];
        return inside;
    }
};

template <typename Key, uint32_t Tests>
struct CountTile {
    static constexpr uint32_t kRows = kRowsOfThread<Key, Tests>;
    using Vector = KeyVector<Key>;

    TileWindow<Key, Tests> window;

    // Neighbouring threads have neighbouring rows, and a block has one tile.
    __device__ void operator()(uint64_t i) const {
        uint64_t block = i / kBlockThreads;
        uint64_t tile = block % window.tiles;
        uint64_t row = window.begin + block / window.tiles * (kBlockThreads * kRows) + i % kBlockThreads;
        Key first[Tests][kRows];
        Key width[Tests][kRows];
        uint32_t hits[kRows];
#pragma unroll
        for (uint32_t r = 0; r < kRows; r++) {
            uint64_t at = row + r * kBlockThreads < window.end ? row + r * kBlockThreads : window.begin;
#pragma unroll
            for (uint32_t t = 0; t < Tests; t++) {
                first[t][r] = window.first[t * window.rows + at];
                width[t][r] = window.width[t * window.rows + at];
            }
            hits[r] = 0;
        }
        count(tile, first, width, hits);
#pragma unroll
        for (uint32_t r = 0; r < kRows; r++) {
            uint64_t at = row + r * kBlockThreads;
            if (at >= window.end) break;
            bool hit = hits[r] > 0 && window.live[at];
            if (hit) window.found[at] = 1;
            if (window.counts) window.counts[(at - window.begin) * window.tiles + tile] = hit ? hits[r] : 0;
        }
    }

    __device__ void count(uint64_t tile, const Key (&first)[Tests][kRows], const Key (&width)[Tests][kRows],
                          uint32_t (&hits)[kRows]) const {
        uint64_t start = tile * kTileKeys;
        uint64_t left = window.positions - start;
        auto keys = static_cast<uint32_t>(left < kTileKeys ? left : kTileKeys);
        uint32_t vectors = keys / Vector::kKeys;
        for (uint32_t v = 0; v < vectors; v++) {
            Vector vector[Tests];
#pragma unroll
            for (uint32_t t = 0; t < Tests; t++)
                vector[t] = reinterpret_cast<const Vector*>(window.keys[t] + start)[v];
#pragma unroll
            for (uint32_t k = 0; k < Vector::kKeys; k++) {
#pragma unroll
                for (uint32_t r = 0; r < kRows; r++) {
                    bool inside = true;
#pragma unroll
                    for (uint32_t t = 0; t < Tests; t++)
                        inside &= vector[t].key[k] - first[t][r] <= width[t][r];
                    hits[r] += inside;
                }
            }
        }
        for (uint32_t k = vectors * Vector::kKeys; k < keys; k++) {
#pragma unroll
            for (uint32_t r = 0; r < kRows; r++) {
                bool inside = true;
#pragma unroll
                for (uint32_t t = 0; t < Tests; t++)
                    inside &= window.keys[t][start + k] - first[t][r] <= width[t][r];
                hits[r] += inside;
            }
        }
    }
};

// A row without a match has its slot in its last tile.
Status add_null_slots(const WorkContext& context, const uint8_t* found, uint64_t begin, uint64_t rows,
                      uint64_t tiles, uint64_t* counts) {
    return for_each(context.handle(), rows, [=] __device__(uint64_t i) {
        if (!found[begin + i]) counts[(i + 1) * tiles - 1] = 1;
    });
}

// Writes the slots [first, first + count) of a window, and marks the build rows.
template <typename Key, uint32_t Tests>
struct WriteTiles {
    TileWindow<Key, Tests> window;
    LookupView lookup;
    const uint64_t* starts;  // by row of the window and tile
    uint64_t first;
    uint64_t count;
    uint32_t* probe;  // null: only mark
    uint32_t* build;
    uint8_t* matched;  // by build row; may be null

    // A warp sees to 32 tiles, one after the other those that have slots to write.
    __device__ void operator()(const Warp& warp, uint64_t i) const {
        uint64_t units = (window.end - window.begin) * window.tiles;
        uint32_t wanted = warp.ballot([&](uint32_t thread) {
            uint64_t unit = i * Warp::kThreads + thread;
            return unit < units && starts[unit] < starts[unit + 1] && starts[unit] < first + count &&
                   starts[unit + 1] > first;
        });
        for (; wanted; wanted &= wanted - 1)
            write_tile(warp, i * Warp::kThreads + __ffs(static_cast<int>(wanted)) - 1);
    }

    __device__ void write_tile(const Warp& warp, uint64_t unit) const {
        uint64_t row = window.begin + unit / window.tiles;
        uint64_t slot = starts[unit];
        if (!window.found[row]) {
            warp.each([&](uint32_t thread) {
                if (thread == 0) write(slot, row, kNoRow);
            });
            return;
        }
        uint64_t position = unit % window.tiles * kTileKeys;
        uint64_t end = position + kTileKeys < window.positions ? position + kTileKeys : window.positions;
        for (; position < end && slot < starts[unit + 1]; position += Warp::kThreads) {
            uint32_t hits = warp.ballot([&](uint32_t thread) {
                return position + thread < end && window.holds(row, position + thread);
            });
            warp.each([&](uint32_t thread) {
                if (!(hits >> thread & 1)) return;
                uint32_t build_row = lookup.row_at(position + thread);
                if (matched) matched[build_row] = 1;
                write(slot + __popc(hits & ((1u << thread) - 1)), row, build_row);
            });
            slot += __popc(hits);
        }
    }

    __device__ void write(uint64_t slot, uint64_t row, uint32_t build_row) const {
        if (!probe || slot < first || slot - first >= count) return;
        probe[slot - first] = static_cast<uint32_t>(row);
        build[slot - first] = build_row;
    }
};

template <typename Key, uint32_t Tests>
class TileSource : public WindowSource {
  public:
    explicit TileSource(ProbeWork work) : WindowSource(std::move(work)) {}

    Status queue(const WorkContext& context) {
        GPUJOIN_RETURN_IF_FAILED(make_flags(context));
        tiles_ = std::max<uint64_t>(1, (work_.lookup.positions + kTileKeys - 1) / kTileKeys);
        return make_intervals(context, work_.tiles, work_.probe, work_.rows, work_.candidates.count.data(),
                              &intervals_);
    }

    Status skip_through(const WorkContext& context, uint32_t probe_row) override {
        uint64_t next = uint64_t{probe_row} + 1;
        if (slots_.left() > 0 && next > begin_)
            GPUJOIN_RETURN_IF_FAILED(slots_.skip_to(context, (std::min(next, end_) - begin_) * tiles_));
        if (next > end_) begin_ = end_ = std::min(next, work_.rows);
        return {};
    }

  private:
    Status begin(const WorkContext&) override { return {}; }
    bool windows_left() const override { return end_ < work_.rows; }

    Status test_window(const WorkContext& context, bool with_slots) override {
        uint64_t rows = std::max<uint64_t>(1, size_.next() / std::max<uint64_t>(1, work_.lookup.positions));
        begin_ = end_;
        end_ = std::min(work_.rows, begin_ + rows);
        bool marks = work_.marks.matched;
        bool counts = with_slots || marks;
        uint64_t units = (end_ - begin_) * tiles_;
        if (counts) GPUJOIN_RETURN_IF_FAILED(slots_.prepare(context, units));
        Timer timer;
        GPUJOIN_RETURN_IF_FAILED(count_tiles(context, counts ? slots_.counts() : nullptr));
        GPUJOIN_RETURN_IF_FAILED(context.stream.synchronize());
        size_.took(timer.milliseconds());
        if (!counts) return {};
        if (work_.rule == SlotRule::PairsOrNull)
            GPUJOIN_RETURN_IF_FAILED(
                add_null_slots(context, found_.data(), begin_, end_ - begin_, tiles_, slots_.counts()));
        GPUJOIN_RETURN_IF_FAILED(slots_.sum(context));
        GPUJOIN_RETURN_IF_FAILED(slots_.finish(context));
        return with_slots ? Status{} : expand(context, 0, slots_.total(), nullptr, nullptr);
    }

    Status count_tiles(const WorkContext& context, uint64_t* counts) {
        if (work_.lookup.positions == 0)
            return counts ? fill_bytes(context.handle(), counts, 0, end_ - begin_) : Status{};
        using Count = CountTile<Key, Tests>;
        constexpr uint64_t kBlockRows = uint64_t{kBlockThreads} * Count::kRows;
        uint64_t blocks = (end_ - begin_ + kBlockRows - 1) / kBlockRows * tiles_;
        return for_each(context.handle(), blocks * kBlockThreads, Count{window(counts)});
    }

    Status expand(const WorkContext& context, uint64_t first, uint64_t count, uint32_t* probe,
                  uint32_t* build) override {
        uint64_t units = (end_ - begin_) * tiles_;
        WriteTiles<Key, Tests> write{window(nullptr), work_.lookup, slots_.starts(), first,
                                     count,           probe,        build,           work_.marks.matched};
        return for_each_warp(context.handle(), (units + Warp::kThreads - 1) / Warp::kThreads, write);
    }

    TileWindow<Key, Tests> window(uint64_t* counts) const {
        TileWindow<Key, Tests> window;
        for (uint32_t t = 0; t < Tests; t++) window.keys[t] = static_cast<const Key*>(work_.tiles.keys[t]);
        window.positions = work_.lookup.positions;
        window.tiles = tiles_;
        window.first = intervals_.first.data();
        window.width = intervals_.width.data();
        window.live = intervals_.live.data();
        window.rows = work_.rows;
        window.begin = begin_;
        window.end = end_;
        window.found = found_.data();
        window.counts = counts;
        return window;
    }

    TileIntervals<Key> intervals_;
    uint64_t tiles_ = 0;  // a probe row
    uint64_t begin_ = 0;  // rows of the window
    uint64_t end_ = 0;
    WindowSize size_{kFirstWindow, 1 << 22, kLargestWindow, kWindowMilliseconds};
};

template <typename Key, uint32_t Tests>
Status make_source(const WorkContext& context, ProbeWork work, std::unique_ptr<PairSource>* source) {
    auto tiles = std::make_unique<TileSource<Key, Tests>>(std::move(work));
    GPUJOIN_RETURN_IF_FAILED(tiles->queue(context));
    *source = std::move(tiles);
    return {};
}

}  // namespace

Status make_tile_source(const WorkContext& context, ProbeWork work, std::unique_ptr<PairSource>* source) {
    static_assert(kMaxTileTests == 3);
    bool narrow = work.tiles.narrow;
    switch (work.tiles.tests) {
        case 1:
            return (narrow ? make_source<uint32_t, 1> : make_source<uint64_t, 1>)(context, std::move(work),
                                                                                  source);
        case 2:
            return (narrow ? make_source<uint32_t, 2> : make_source<uint64_t, 2>)(context, std::move(work),
                                                                                  source);
        default:
            return (narrow ? make_source<uint32_t, 3> : make_source<uint64_t, 3>)(context, std::move(work),
                                                                                  source);
    }
}

}  // namespace gpujoin
