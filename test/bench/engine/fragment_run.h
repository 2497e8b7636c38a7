// Runs a fragment on an engine, its source in the engine's own memory, and times it: from its first batch of
// source rows, when it is open and the dimensions are built, until the last row or group is written. Results
// go to memory of the same kind, which is used again: all are counted, and their checksum is taken in the
// first run only.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "columns.h"
#include "engine/fragment.h"
#include "fragment_workload.h"
#include "outcome.h"
#include "stopwatch.h"
#include "workload.h"

namespace gpujoin::bench {

// A workload's tables in one place, and what must come out.
struct FragmentInputs {
    Columns source;
    std::vector<Columns> dimensions;  // key, attribute
    Check expected;
};

FragmentInputs make_inputs(const FragmentWorkload& workload, Place& place);

struct FragmentCase {
    const FragmentWorkload* workload = nullptr;
    Transport transport = Transport::Resident;
    uint32_t threads = 1;  // of batches at once, at most
    double timeout = 20;   // seconds after which a run is cancelled
};

class FragmentRun {
  public:
    FragmentRun(Engine& engine, const FragmentCase& fragment_case, const FragmentInputs& inputs,
                Place& place);
    Outcome run(bool take_checksum);

  private:
    Status open(std::unique_ptr<Fragment>* fragment);
    Status build(Join& join, uint32_t stage) const;
    Status run_source(Fragment& fragment, Outcome* outcome) const;
    Status run_batches(Fragment& fragment, bool take_checksum, Stopwatch* time,
                       std::vector<Check>* checks) const;
    Status take_results(Cursor& cursor, uint64_t first_row, bool take_checksum, uint32_t thread,
                        Check* check) const;
    Check check_result(const ResultBatch& result, const std::byte* memory, uint64_t first_row) const;

    Engine& engine_;
    const FragmentCase& case_;
    const FragmentWorkload& workload_;
    const FragmentInputs& inputs_;
    Place& place_;
    std::unique_ptr<FragmentSpec> spec_;
    std::vector<StageSpec> stages_;
    uint64_t batch_rows_;
    uint32_t threads_;
    std::vector<Buffer> sinks_;  // one a thread
    std::atomic<bool> cancel_{false};
    Ledger host_memory_{UINT64_MAX};
    Ledger device_memory_{UINT64_MAX};
};

}  // namespace gpujoin::bench
