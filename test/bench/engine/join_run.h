// Runs a workload on an engine, array to array, and times it: from opening the join (or from the first probe,
// where the build side is given) until the last result is written. Every result is counted; its checksum is
// taken outside the measured time, or, where results stream through reused memory, in the first run only.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "columns.h"
#include "engine/engine.h"
#include "outcome.h"
#include "workload.h"

namespace gpujoin::bench {

// A workload's relations in one place, and what their join must give (with all repeats).
struct Inputs {
    Columns probe;  // key, (high key of a band,) row number
    Columns build;
    Check expected;
};

Inputs make_inputs(const Workload& workload, Place& place);

struct JoinCase {
    const Workload* workload = nullptr;
    Algorithm algorithm = Algorithm::Auto;
    ResultOrder order = ResultOrder::Ascending;
    Transport transport = Transport::Whole;
    uint32_t threads = 1;  // that append and probe at once; 1 unless in batches
    double timeout = 20;   // seconds after which a run is cancelled

    bool is_build_given() const {
        return transport == Transport::StreamKept || transport == Transport::StreamReturned;
    }
    bool is_streamed() const { return transport != Transport::Resident && transport != Transport::Whole; }
};

// Joins inputs in the memory of `from` and writes results into the memory of `to`, through sinks made by
// make_sinks(). With take_checksum, streamed cases check results as they come.
class JoinRun {
  public:
    JoinRun(Engine& engine, const JoinCase& join_case, const Inputs& inputs, Place& from, Place& to);
    Outcome run(bool take_checksum);

  private:
    struct Task;
    Status build_side(Join& join) const;
    Status probe_side(Join& join, bool take_checksum, Outcome* outcome) const;
    Status probe_batch(Join& join, uint64_t first_row, uint64_t rows, const Sink& sink, bool take_checksum,
                       Check* check, double* excluded) const;
    Check check_result(const ResultBatch& result, const std::byte* memory, uint64_t first_row) const;
    uint64_t batch_rows(uint64_t rows) const;

    Engine& engine_;
    const JoinCase& case_;
    const Inputs& inputs_;
    Place& from_;
    Place& to_;
    JoinSpec spec_;
    std::vector<Buffer> sinks_;  // one a thread
    uint64_t sink_bytes_;
    std::atomic<bool> cancel_{false};
    Ledger host_memory_{UINT64_MAX};
    Ledger device_memory_{UINT64_MAX};
};

}  // namespace gpujoin::bench
