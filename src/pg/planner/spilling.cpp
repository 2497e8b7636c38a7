// See spilling.h. All rows of both inputs are written and read once, and again for each time that partitions
// are divided.
#include "pg/planner/spilling.h"

#include <algorithm>
#include <cmath>

#include "pg/plan_data.h"
#include "pg/planner/clauses.h"
#include "pg/planner/kept.h"

extern "C" {
#include "optimizer/optimizer.h"
#include "utils/guc.h"
}

namespace gpujoin {

namespace {

constexpr double kRowHead = 4;          // bytes (executor/row_file.cpp),
constexpr double kValue = 8;            // and of a value at most, beside those of values of any length
constexpr double kDividingAgain = 1.5;  // times what dividing takes: partitions are joined in vain before
constexpr Cost kSpilledRow = 0.006;     // beside its bytes, written and read

double row_bytes(const RowShape& keys, const RowShape& columns) {
    return kRowHead + kValue * (keys.values + columns.values) + columns.copied_bytes + keys.copied_bytes;
}

double spilled_rows(const JoinInputs& inputs) {
    return likely_rows(inputs.build) + likely_rows(inputs.probe);
}

double spilled_bytes(const JoinInputs& inputs) {
    const JoinFacts& facts = *inputs.facts;
    return likely_rows(inputs.build) * row_bytes(facts.build_keys, facts.build_columns) +
           likely_rows(inputs.probe) * row_bytes(facts.probe_keys, facts.probe_columns);
}

double parts(double server_bytes, uint64 memory) {
    return server_bytes / std::max(static_cast<double>(memory), 1.0);
}

double divisions(double server_bytes, uint64 memory) {
    return std::ceil(std::max(std::log2(parts(server_bytes, memory)), 1.0) / kDivisionBits);
}

// The build side is read until its memory is refused, and then once more, from the start: only a table stops
// where it is.
Cost attempt_cost(const JoinInputs& inputs, double server_bytes, uint64 memory) {
    const double read =
        inputs.build->pathtype == T_SeqScan ? 1 / std::max(parts(server_bytes, memory), 1.0) : 1;
    return read * reading_cost(inputs.build);
}

}  // namespace

bool may_spill(PlannerInfo* root, const JoinInputs& inputs, double server_bytes, uint64 memory) {
    const JoinClauses* clauses = inputs.facts->clauses;
    if (inputs.before || inputs.sharing == Sharing::Probe) return false;
    if (clauses && clauses->equalities == NIL) return false;
    if (kept_share_of(root, inputs.build) > 0 || kept_share_of_source(root, inputs.probe) > 0) return false;
    if (temp_file_limit < 0) return true;
    // Of each process. What is divided again goes afterwards.
    const double files = divisions(server_bytes, memory) > 1 ? 2 : 1;
    return files * spilled_bytes(inputs) < temp_file_limit * 1024.0;
}

Cost spilling_cost(const JoinInputs& inputs, double server_bytes, uint64 memory) {
    const double pages = spilled_bytes(inputs) / BLCKSZ;
    const Cost once = 2 * seq_page_cost * pages + kSpilledRow * spilled_rows(inputs);
    const double again = (divisions(server_bytes, memory) - 1) * kDividingAgain;
    return attempt_cost(inputs, server_bytes, memory) + (1 + again) * once;
}

}  // namespace gpujoin
