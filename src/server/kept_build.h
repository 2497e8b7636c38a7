// KeptBuild: kept rows on their way to a build side. Several workers read and append them at once. Rows get
// their numbers when they have passed the conditions, batch by batch, and a batch that has its numbers is
// appended to its end, if need be to the fragment that the session has moved to meanwhile: what lies on the
// device that it has left is read once more.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "engine/engine.h"
#include "engine/kept/kept_view.h"

namespace gpujoin {

class KeptBuild {
  public:
    // What one worker has in hand.
    struct Lane {
        std::unique_ptr<KeptBuildReader> reader;  // until it is done
        BatchView batch;                          // that is to be appended; none where it has no rows
        uint64_t first_row = 0;                   // number of the next row that has one,
        uint64_t numbered = 0;                    // and how many have one and are not appended
        uint64_t rows_appended = 0;
        bool is_first = false;
        bool is_done = false;
    };

    // As many lanes as the scan has rows for, and suit the engine. All that is named outlives it.
    KeptBuild(const KeptScan& scan, std::span<const ColumnSpec> columns, Engine& engine, const Limits& limits,
              uint64_t most_lanes);

    // Goes on with a lane until its turn is over, or it is done. On a worker; each lane on one at a time.
    // next_row: number of the build row that comes next. 53200 where there is no memory for one lane.
    static Status execute(Lane& lane, Join& join, std::atomic<uint64_t>& next_row);

    // What follows is asked while no lane is executed.
    std::vector<Lane>& lanes() { return lanes_; }
    bool is_done() const { return std::ranges::all_of(lanes_, &Lane::is_done); }
    // Rows have numbers that are not appended.
    bool has_numbered() const {
        return std::ranges::any_of(lanes_, [](const Lane& lane) { return lane.numbered > 0; });
    }
    uint64_t rows_appended() const;
    // The join is another one from now on, not on the device that it was on. On a worker.
    void leave_device();

  private:
    static Status take_batch(Lane& lane, std::atomic<uint64_t>& next_row);

    KeptPosition position_;
    std::vector<Lane> lanes_;
};

}  // namespace gpujoin
