// See pace.h.
#include "pg/executor/pace.h"

#include "wire/batch.h"

extern "C" {
#include "optimizer/optimizer.h"
}

namespace gpujoin {

namespace {

constexpr int kMostInFlight = 2;
constexpr uint32_t kFirstRows = 1024;
constexpr uint32_t kFirstRowsBounded = 64;
constexpr uint32_t kFirstRowsOnDemand = 16;
constexpr uint32_t kGrowth = 4;
constexpr uint32_t kRowsPerLook = 16;  // at the clock; a power of two

// Rows of tables come in less than a tenth of kDearRowUs. Batches of those are never cut short: the time went
// to other processes.
constexpr uint64 kFirstPatienceUs = 1000;
constexpr uint64 kPatienceUs = 10000;
constexpr uint64 kDearRowUs = 1;

bool has_effects(PlanState* state, void*) {
    const Plan* plan = state->plan;
    return IsA(plan, LockRows) || contain_volatile_functions(reinterpret_cast<Node*>(plan->targetlist)) ||
           contain_volatile_functions(reinterpret_cast<Node*>(plan->qual)) ||
           walk_plan_states(state, has_effects, nullptr);
}

}  // namespace

void pace_start(Pace* pace, bool on_demand, bool is_bounded) {
    pace->on_demand = on_demand;
    pace->answered = false;
    pace->batch_rows = on_demand ? kFirstRowsOnDemand : is_bounded ? kFirstRowsBounded : kFirstRows;
}

void pace_sent(Pace* pace) {
    pace->batch_rows = Min(pace->batch_rows * kGrowth, kTargetBatchRows);
}

void pace_answered(Pace* pace) {
    pace->answered = true;
}

int batches_allowed(const Pace* pace) {
    return pace->answered && !pace->on_demand ? kMostInFlight : 1;
}

Patience patience_for(const Pace* pace) {
    Patience patience;
    INSTR_TIME_SET_CURRENT(patience.start);
    patience.limit_us = pace->answered ? kPatienceUs : kFirstPatienceUs;
    return patience;
}

bool is_overdue(const Patience* patience, uint32_t rows) {
    if ((rows & (kRowsPerLook - 1)) != 0 && (rows & (rows - 1)) != 0) return false;
    instr_time elapsed;
    INSTR_TIME_SET_CURRENT(elapsed);
    INSTR_TIME_SUBTRACT(elapsed, patience->start);
    auto spent = static_cast<uint64>(INSTR_TIME_GET_MICROSEC(elapsed));  // signed from 17 on
    return spent > Max(patience->limit_us, rows * kDearRowUs);
}

bool reads_with_effects(PlanState* plan) {
    return has_effects(plan, nullptr);
}

}  // namespace gpujoin
