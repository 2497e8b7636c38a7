// Replica: one of the engines that a replicated one consists of.
#pragma once

#include "engine/engine.h"

namespace gpujoin {

// Not owned; outlives the replicated engine. memory: of its device, of which a join may take as much as
// Limits::device_memory has; nullptr: it has none.
struct Replica {
    Engine* engine;
    Ledger* memory;
};

}  // namespace gpujoin
