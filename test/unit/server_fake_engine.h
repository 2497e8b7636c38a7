// FakeEngine: a naive, correct engine for tests of the server: it compares every pair of rows. It knows inner
// joins on equalities, scans of the build side, chains of such joins, and counts of the rows of groups, and
// can be told to fail, or to hang until it is cancelled.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "engine/engine.h"

namespace gpujoin::test {

// Where a test interferes. Outlives the engine.
struct FakeControls {
    enum Call { Open, Append, Seal, Probe, Next, Export, Destroy, kCalls };

    std::atomic<int> fail_in[kCalls]{};  // the n-th call from now on fails; 0: none
    std::atomic<Fault> fault{Fault::Error};
    // This call waits until it is cancelled, which Destroy cannot be, or hang_in is reset.
    std::atomic<int> hang_in{kCalls};
    std::atomic<int> hanging{0};  // calls that do so now
    // Cursors of so many probe rows or more find nothing as long as this is set, turn by turn.
    std::atomic<uint64_t> busy_from{~uint64_t{0}};
    std::atomic<int> turns{0};  // that these have had
    std::atomic<int> joins{0};  // alive
    std::atomic<int> cursors{0};
};

// number: -1 for one that plays the CPU engine, else the GPU's. join_memory: bytes.
std::unique_ptr<Engine> make_fake_engine(int number, FakeControls* controls, uint64_t join_memory = 1u << 30);

}  // namespace gpujoin::test
