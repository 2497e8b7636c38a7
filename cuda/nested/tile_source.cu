// Tiles of interval tests (tiles.h): a thread holds the intervals of several probe rows in registers and runs
// over a tile's build keys.
#include "cuda/nested/tile_source.cuh"

#include "cuda/columns/key_vector.cuh"
#include "cuda/nested/tiles.h"

namespace gpujoin::cuda {

namespace {

// Probe rows that one thread holds: as many as keep to the registers.
template <typename Key, uint32_t Tests>
constexpr uint32_t kRowsOfThread = Tests * sizeof(Key) <= 4   ? 8
                                   : Tests * sizeof(Key) <= 8 ? 4
                                                              : 2;

template <typename Key, uint32_t Tests>
struct IntervalWindow : TileGrid {
    const Key* keys[Tests];
    const Key* first;  // of intervals, by row
    const Key* width;
    const uint8_t* live;
    uint64_t rows;  // of the batch

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
    static constexpr uint64_t kPositions = 4096;
    using Vector = KeyVector<Key>;

    IntervalWindow<Key, Tests> window;

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
            window.note(at, tile, window.live[at] ? hits[r] : 0);
        }
    }

    __device__ void count(uint64_t tile, const Key (&first)[Tests][kRows], const Key (&width)[Tests][kRows],
                          uint32_t (&hits)[kRows]) const {
        uint64_t start = tile * kPositions;
        uint64_t left = window.positions - start;
        auto keys = static_cast<uint32_t>(left < kPositions ? left : kPositions);
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

template <typename Key, uint32_t Tests>
class IntervalTest {
  public:
    using Window = IntervalWindow<Key, Tests>;
    using Count = CountTile<Key, Tests>;
    static constexpr uint64_t kPositions = Count::kPositions;

    static uint64_t first_window(const ProbeWork&) { return uint64_t{1} << 30; }

    Status queue(const WorkContext& context, const ProbeWork& work) {
        return make_intervals(context, work.tiles, work.probe, work.rows, work.candidates.count.data(),
                              &intervals_);
    }

    Window window(const TileGrid& grid, const ProbeWork& work) const {
        Window window{grid,     {}, intervals_.first.data(), intervals_.width.data(), intervals_.live.data(),
                      work.rows};
        for (uint32_t t = 0; t < Tests; t++) window.keys[t] = static_cast<const Key*>(work.tiles.keys[t]);
        return window;
    }

  private:
    TileIntervals<Key> intervals_;
};

template <typename Key, uint32_t Tests>
Status make_source(const WorkContext& context, ProbeWork work, std::unique_ptr<PairSource>* source) {
    auto tiles = std::make_unique<TileSource<IntervalTest<Key, Tests>>>(std::move(work));
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

}  // namespace gpujoin::cuda
