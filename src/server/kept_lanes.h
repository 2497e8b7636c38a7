// KeptLanes: the probe with kept rows as several workers execute it at once. Each lane takes rows of the scan
// as they come, and writes into memory of its own, from where results go to the client's blocks. Where rows
// are aggregated there are hardly any.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "engine/fragment.h"
#include "engine/kept/kept_cursor.h"

namespace gpujoin {

struct KeptLane {
    explicit KeptLane(Ledger* ledger) : memory(ledger) {}

    KeptArray memory;
    std::unique_ptr<KeptCursor> cursor;  // nullptr: not begun, or done
    ResultBatch result;                  // in memory; taken once it has gone to the client
    bool has_no_room = false;            // and could not go on, by which nothing was lost
    bool waits = false;                  // for others that go on, before it tries again
    bool is_done = false;

    bool has_rows() const { return result.rows > 0; }
    bool is_ready() const { return !is_done && !waits; }
};

class KeptLanes {
  public:
    // As many as there is memory for; 53200 where there is none for one. The engine is that of the fragments.
    // gives_rows: they are not aggregated.
    static Status make(const KeptMeasure& most, const KeptScan& scan, Engine& engine, const Limits& limits,
                       bool gives_rows, std::unique_ptr<KeptLanes>* lanes);

    // Goes on with a lane until it has rows, its turn is over, it is done, or has no room. On a worker; each
    // lane on one at a time.
    Status execute(KeptLane& lane, Fragment& fragment, std::span<const ColumnSpec> source);

    // When all that are ready have been executed. Lanes that have no room leave their rows to the others, if
    // they have none yet, or try once more, in the end alone. 53200 where none can go on.
    Status settle();

    std::vector<KeptLane>& all() { return lanes_; }
    bool are_done() const;

  private:
    static void end(KeptLane& lane);
    void end_without_rows(bool others_read);
    void leave_room(KeptLane& lane) const;
    KeptLanes(uint32_t most_rows, uint64_t lane_bytes, const KeptScan& scan, Engine& engine,
              const Limits& limits)
        : most_rows_(most_rows), lane_bytes_(lane_bytes), scan_(scan), engine_(engine), limits_(limits) {}

    const uint32_t most_rows_;
    const uint64_t lane_bytes_;  // that a lane writes into, at first
    const KeptScan& scan_;
    Engine& engine_;
    const Limits limits_;
    KeptPosition position_;
    std::vector<KeptLane> lanes_;
    size_t lanes_ended_ = 0;  // when it was settled last
};

}  // namespace gpujoin
