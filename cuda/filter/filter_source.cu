// Tiles of a filter program: a thread has one probe row and runs the program for kFilterLanes build positions
// at a time. All threads of a block look at the same positions, so that build values come from the cache for
// all of them at once, and take the same turns.
#include "cuda/filter/filter_columns.h"
#include "cuda/nested/tile_source.cuh"

namespace gpujoin::cuda {

namespace {

struct FilterWindow : TileGrid {
    FilterProgram program;
    const FilterColumn* probe;
    const FilterColumn* build;
    const DeviceColumn* probe_columns;
    const DeviceColumn* build_columns;
    uint32_t* undecided;

    __device__ bool holds(uint64_t row, uint64_t position) const {
        FilterMachine<SinglePair> machine;
        return machine.run(program, SinglePair{probe_columns, build_columns, row, position}).passed & 1;
    }
};

struct CountFilterTile {
    static constexpr uint32_t kRows = 1;
    static constexpr uint64_t kPositions = 512;

    FilterWindow window;

    __device__ void operator()(uint64_t i) const {
        uint64_t block = i / kBlockThreads;
        uint64_t tile = block % window.tiles;
        uint64_t row = window.begin + block / window.tiles * kBlockThreads + i % kBlockThreads;
        if (row >= window.end) return;
        uint64_t position = tile * kPositions;
        uint64_t end = position + kPositions < window.positions ? position + kPositions : window.positions;
        uint32_t hits = 0;
        uint32_t undecided = 0;
        FilterMachine<TilePairs> machine;
        for (; position < end; position += kFilterLanes) {
            uint64_t left = end - position;
            uint32_t lanes = left < kFilterLanes ? (1u << left) - 1 : (1u << kFilterLanes) - 1;
            auto outcome = machine.run(window.program, TilePairs{window.probe, window.build, row, position});
            hits += __popc(outcome.passed & lanes);
            undecided |= outcome.undecided & lanes;
        }
        if (undecided) *window.undecided = 1;
        window.note(row, tile, hits);
    }
};

class ProgramTest {
  public:
    using Window = FilterWindow;
    using Count = CountFilterTile;
    static constexpr uint64_t kPositions = Count::kPositions;

    static uint64_t first_window(const ProbeWork& work) {
        return (uint64_t{1} << 30) / work.filter.program->steps;
    }

    Status queue(const WorkContext& context, const ProbeWork& work) {
        return probe_.make(context, *work.filter.program, FilterSource::Probe, work.probe, work.rows);
    }

    Window window(const TileGrid& grid, const ProbeWork& work) const {
        return {grid,       *work.filter.program, probe_.view(), work.filter.tiles,
                work.probe, work.lookup.build,    work.undecided};
    }

  private:
    FilterColumns probe_;
};

}  // namespace

Status make_filter_source(const WorkContext& context, ProbeWork work, std::unique_ptr<PairSource>* source) {
    auto tiles = std::make_unique<TileSource<ProgramTest>>(std::move(work));
    GPUJOIN_RETURN_IF_FAILED(tiles->queue(context));
    *source = std::move(tiles);
    return {};
}

}  // namespace gpujoin::cuda
