// Pace: how much of the probe side is read before it is answered. Large batches in flight are quick, but what
// is above may want a few rows only (LIMIT, EXISTS, a cursor), and core would read no more than it needs for
// them. So the first batch is small and answered before the second is read, batches grow, and one whose rows
// take long to come is sent before it is full. Where reading a row has side effects, or would have given
// other values if fewer had been read (volatile functions, row locks), every batch is answered before the
// next is read, which the first is the smallest of: then at most some four times as many rows are read as
// were needed.
#pragma once

#include "pg/compat.h"

extern "C" {
#include "nodes/execnodes.h"
#include "portability/instr_time.h"
}

namespace gpujoin {

struct Pace {
    bool on_demand;
    bool answered;        // a batch was, wholly
    uint32_t batch_rows;  // target of the next batch
};

// How long a batch may take to fill.
struct Patience {
    instr_time start;
    uint64 limit_us;
};

void pace_start(Pace* pace, bool on_demand, bool is_bounded);
void pace_sent(Pace* pace);
void pace_answered(Pace* pace);

// How many batches may be in flight.
int batches_allowed(const Pace* pace);

Patience patience_for(const Pace* pace);

// Whether a batch of so many rows is to be sent as it is. Cheap enough to be asked after each row.
bool is_overdue(const Patience* patience, uint32_t rows);

// Whether rows of a plan come with side effects, or with values that depend on how many are read.
bool reads_with_effects(PlanState* plan);

}  // namespace gpujoin
