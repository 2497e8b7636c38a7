// KeptLanes: the probe with kept rows as several workers execute it at once. Each lane takes rows of the scan
// as they come, and writes into memory of its own, from where results go to the client's blocks. Where rows
// are aggregated there are hardly any.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "engine/fragment.h"
#include "engine/kept/kept_view.h"

namespace gpujoin {

struct KeptLane {
    explicit KeptLane(Ledger* ledger) : memory(ledger) {}

    KeptArray memory;
    std::unique_ptr<Cursor> cursor;  // nullptr: not begun, or done
    KeptReader* reader = nullptr;    // the cursor's
    ResultBatch result;              // in memory; taken once it has gone to the client
    bool has_no_room = false;        // and could not go on, by which nothing was lost
    bool is_done = false;

    bool has_rows() const { return result.rows > 0; }
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

    // When all that are not done have been executed: lanes that have no room leave their rows to the others,
    // which have taken it. 53200 where none can go on.
    Status settle();

    std::vector<KeptLane>& all() { return lanes_; }
    bool are_done() const;

  private:
    static void end(KeptLane& lane);
    KeptLanes(uint32_t most_rows, const KeptScan& scan, Engine& engine, const Limits& limits)
        : most_rows_(most_rows), scan_(scan), engine_(engine), limits_(limits) {}

    const uint32_t most_rows_;
    const KeptScan& scan_;
    Engine& engine_;
    const Limits limits_;
    KeptPosition position_;
    std::vector<KeptLane> lanes_;
    size_t lanes_ended_ = 0;  // when it was settled last
};

}  // namespace gpujoin
