// Pairs of a nested loop: tiles of probe rows times build positions, whatever is tested on them.
//
// A window is a number of probe rows and all build positions. It is first only counted: a thread runs over a
// tile of positions, which all threads of a block look at at the same time. The counts, one for each probe
// row and tile, become slots, and the tiles that have any are tested once more by a warp each, which writes
// the pairs in order. Urgent work of other streams begins where a block has ended, so that tiles are as small
// as they can be without being slower.
//
// Test, what is tested, has:
//   kPositions            of a tile
//   Window                what kernels look at: a TileGrid with holds(row, position)
//   Count                 the kernel's body that counts, made of a Window; kRows: rows that one thread holds
//   first_window(work)    pairs that surely take no longer than a window may
//   queue(context, work)  queues what the test needs of the probe rows
//   window(grid, work)    a Window
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "cuda/work/launch.cuh"
#include "cuda/work/timer.h"
#include "cuda/results/window_source.h"

namespace gpujoin::cuda {

// The part of a window that does not depend on the test.
struct TileGrid {
    uint64_t positions;
    uint64_t tiles;  // a probe row
    uint64_t begin;  // probe rows of the window
    uint64_t end;
    uint8_t* found;    // by row of the batch: has a match
    uint64_t* counts;  // by row of the window and tile; may be null

    // Notes a row's hits in a tile.
    __device__ void note(uint64_t row, uint64_t tile, uint32_t hits) const {
        if (hits > 0) found[row] = 1;
        if (counts) counts[(row - begin) * tiles + tile] = hits;
    }
};

// By row of a window: one without a match has its slot in its last tile.
struct AddNullSlot {
    TileGrid grid;

    __device__ void operator()(uint64_t i) const {
        if (!grid.found[grid.begin + i]) grid.counts[(i + 1) * grid.tiles - 1] = 1;
    }
};

// Writes the slots [first, first + count) of a window, and marks the build rows.
template <typename Window, uint64_t kPositions>
struct WriteTiles {
    Window window;
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
        uint64_t position = unit % window.tiles * kPositions;
        uint64_t end = position + kPositions < window.positions ? position + kPositions : window.positions;
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

template <typename Test>
class TileSource : public WindowSource {
  public:
    explicit TileSource(ProbeWork work)
        : WindowSource(std::move(work)),
          size_(Test::first_window(work_), kLeastWindow, kLargestWindow, kWindowMilliseconds) {}

    Status queue(const WorkContext& context) {
        GPUJOIN_RETURN_IF_FAILED(make_flags(context));
        tiles_ = std::max<uint64_t>(1, (work_.lookup.positions + Test::kPositions - 1) / Test::kPositions);
        return test_.queue(context, work_);
    }

    Status skip_through(const WorkContext& context, uint32_t probe_row) override {
        uint64_t next = uint64_t{probe_row} + 1;
        if (slots_.left() > 0 && next > begin_)
            GPUJOIN_RETURN_IF_FAILED(slots_.skip_to(context, (std::min(next, end_) - begin_) * tiles_));
        if (next > end_) begin_ = end_ = std::min(next, work_.rows);
        return {};
    }

  private:
    static constexpr uint64_t kLeastWindow = 1 << 22;
    static constexpr uint64_t kLargestWindow = uint64_t{1} << 35;  // pairs
    static constexpr double kWindowMilliseconds = 10.0;

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
        GPUJOIN_RETURN_IF_FAILED(note_undecided(context));
        if (!counts) return {};
        if (work_.rule == SlotRule::PairsOrNull)
            GPUJOIN_RETURN_IF_FAILED(
                for_each(context.handle(), end_ - begin_, AddNullSlot{grid(slots_.counts())}));
        GPUJOIN_RETURN_IF_FAILED(slots_.sum(context));
        GPUJOIN_RETURN_IF_FAILED(slots_.finish(context));
        return with_slots ? Status{} : expand(context, 0, slots_.total(), nullptr, nullptr);
    }

    Status count_tiles(const WorkContext& context, uint64_t* counts) {
        if (work_.lookup.positions == 0)
            return counts ? fill_bytes(context.handle(), counts, 0, end_ - begin_) : Status{};
        constexpr uint64_t kBlockRows = uint64_t{kBlockThreads} * Test::Count::kRows;
        uint64_t blocks = (end_ - begin_ + kBlockRows - 1) / kBlockRows * tiles_;
        return for_each(context.handle(), blocks * kBlockThreads, typename Test::Count{window(counts)});
    }

    Status expand(const WorkContext& context, uint64_t first, uint64_t count, uint32_t* probe,
                  uint32_t* build) override {
        uint64_t units = (end_ - begin_) * tiles_;
        WriteTiles<typename Test::Window, Test::kPositions> write{
            window(nullptr), work_.lookup, slots_.starts(), first, count, probe, build, work_.marks.matched};
        return for_each_warp(context.handle(), (units + Warp::kThreads - 1) / Warp::kThreads, write);
    }

    TileGrid grid(uint64_t* counts) const {
        return {work_.lookup.positions, tiles_, begin_, end_, found_.data(), counts};
    }
    typename Test::Window window(uint64_t* counts) const { return test_.window(grid(counts), work_); }

    Test test_;
    uint64_t tiles_ = 0;  // a probe row
    uint64_t begin_ = 0;  // rows of the window
    uint64_t end_ = 0;
    WindowSize size_;
};

}  // namespace gpujoin::cuda
