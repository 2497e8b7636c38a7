// EXPLAIN (GPUJOIN_WHY), from PostgreSQL 18 on, which takes options of extensions: below the plan, what
// gpujoin_why() says of each join and aggregate that is left to core. In all formats.
#pragma once

#include "pg/planner/verdicts.h"

extern "C" {
#include "commands/explain.h"
}

namespace gpujoin {

// Once in each process, while the library is loaded.
void install_explain_why();

// What is recorded of the statement that EXPLAIN plans with this state; nullptr where nothing is wanted.
struct Explained {
    const ExplainState* state;
    Recorder* record;
};

// Has it recorded from now on. Gives what was so before; that, and the recorder of before, are to be put back
// whatever becomes of the statement.
Explained set_explained(Explained now);

}  // namespace gpujoin
