// See spilling.h. As executor/partitions.h does it: the largest build side and the probe input are divided by
// their keys, so that all their rows are written and read once, and again for each time that partitions are
// divided. Without keys the build side is cut into pieces, and all rows pass each of them. Build sides of
// other stages are built again for each partition or piece.
#include "pg/planner/spilling.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "pg/compat.h"
#include "pg/plan_data.h"
#include "pg/planner/clauses.h"

extern "C" {
#include "optimizer/optimizer.h"
#include "utils/guc.h"
}

namespace gpujoin {

namespace {

constexpr double kRowHead = 4;          // bytes (executor/row_file.cpp),
constexpr double kValue = 8;            // and of a value at most, beside those of values of any length
constexpr double kDividingAgain = 1.5;  // times what dividing takes: partitions are joined in vain before
constexpr Cost kSpilledRow = 0.003;     // beside its bytes, written or read
constexpr double kFirstPartitions = 1 << kDivisionBits;
constexpr double kSpare = 2;  // times as many parts as memory is short by: they are not all of one size

struct BuildSide {
    const Path* path;
    double server_bytes;
    bool is_partial;
    bool has_keys;  // of the probe input, which rows are divided by
};

struct BuildSides {
    BuildSide side[kMaxStages];
    int count = 0;
};

// Before conditions are known, as if there were: it is what costs least.
bool has_keys_of(PlannerInfo* root, const JoinClauses* clauses, const Path* probe) {
    if (!clauses) return true;
    ListCell* cell;
    foreach (cell, clauses->equalities) {
        auto* key = static_cast<Node*>(linitial(static_cast<JoinTerm*>(lfirst(cell))->clause->args));
        if (bms_is_subset(without_outer_joins(root, pull_varnos(root, key)), probe->parent->relids))
            return true;
    }
    return false;
}

BuildSides build_sides(PlannerInfo* root, const JoinInputs& inputs, double server_bytes) {
    BuildSides sides;
    auto add = [&](const Path* build, const JoinClauses* clauses, bool is_partial, const Chain* before) {
        const double earlier = before ? before->costs.server_bytes : 0;
        sides.side[sides.count++] = {build, server_bytes - earlier, is_partial,
                                     has_keys_of(root, clauses, inputs.probe)};
        server_bytes = earlier;
    };
    add(inputs.build, inputs.facts->clauses, inputs.builds_together, inputs.before);
    for (const Chain* chain = inputs.before; chain; chain = chain->before)
        add(chain->build, chain->clauses, chain->builds_together, chain->before);
    return sides;
}

const BuildSide* largest(const BuildSides& sides) {
    return std::max_element(sides.side, sides.side + sides.count, [](const BuildSide& a, const BuildSide& b) {
        return a.server_bytes < b.server_bytes;
    });
}

// --- Files

double file_bytes(const Path* input) {
    const RowShape shape = wanted_shape(input->pathtarget);
    return likely_rows(input) * (kRowHead + kValue * shape.values + shape.copied_bytes);
}

// Writing it, or reading it.
Cost file_cost(const Path* input) {
    return seq_page_cost * file_bytes(input) / BLCKSZ + kSpilledRow * likely_rows(input);
}

double shortage(const EngineCosts& engine, double server_bytes) {
    return server_bytes / static_cast<double>(engine.memory);
}

double divisions(const EngineCosts& engine, double server_bytes) {
    return std::ceil(std::max(std::log2(shortage(engine, server_bytes)), 1.0) / kDivisionBits);
}

double count_partitions(const BuildSide& divided, const EngineCosts& engine, double server_bytes) {
    const double least = divided.has_keys ? kFirstPartitions : 2;
    return std::max(std::ceil(kSpare * shortage(engine, server_bytes)), least);
}

// --- Costs

// Build sides are read until memory is refused, and then once more, from the start: only a table stops where
// it is.
Cost attempt_cost(const BuildSides& sides, double shortage) {
    Cost cost = 0;
    for (const BuildSide& side : std::span(sides.side, sides.count))
        cost += reading_cost(side.path) / (side.path->pathtype == T_SeqScan ? shortage : 1);
    return cost;
}

// Of both inputs.
Cost dividing_cost(const JoinInputs& inputs, const BuildSide& divided, const EngineCosts& engine,
                   double server_bytes) {
    const double again = (divisions(engine, server_bytes) - 1) * kDividingAgain;
    return (1 + again) * 2 * (file_cost(divided.path) + file_cost(inputs.probe));
}

// By one process.
Cost cutting_cost(const JoinInputs& inputs, const BuildSide& divided, double pieces, const CostTerms& terms) {
    const double* cost = terms.cost;
    const Cost pass =
        file_cost(inputs.probe) + cost[kEncodeProbeTerm] + cost[kTransferProbeTerm] + cost[kProbeTerm];
    return 2 * file_cost(divided.path) + file_cost(inputs.probe) + pieces * pass;
}

// Of a build side that each partition has the whole of: participants take one partition after the other.
Cost repetition_cost(const BuildSide& side, const EngineCosts& engine, double partitions, double shares) {
    const double of_all = side.is_partial ? shares : 1;
    const double rows = likely_rows(side.path);
    const Cost again = file_cost(side.path) + encode_cost(rows, wanted_shape(side.path->pathtarget)) +
                       rows * engine.build_row;
    return file_cost(side.path) + again * of_all * partitions / shares;
}

}  // namespace

bool is_spilled(const EngineCosts& engine, double server_bytes) {
    return engine.memory > 0 && server_bytes > static_cast<double>(engine.memory);
}

bool may_spill(PlannerInfo* root, const JoinInputs& inputs, const EngineCosts& engine, double server_bytes) {
    if (inputs.sharing == Sharing::Probe) return false;
    const BuildSides sides = build_sides(root, inputs, server_bytes);
    if (inputs.workers > 0 && !largest(sides)->has_keys) return false;
    if (temp_file_limit < 0) return true;
    // Of each process. What is divided again goes afterwards.
    const double files = divisions(engine, server_bytes) > 1 ? 2 : 1;
    double bytes = file_bytes(inputs.probe);
    for (const BuildSide& side : std::span(sides.side, sides.count)) bytes += file_bytes(side.path);
    return files * bytes < temp_file_limit * 1024.0;
}

Refusal refusal_for_memory(double server_bytes) {
    return {Reason::Memory, nullptr, psprintf("%.0f MB", std::ceil(server_bytes / 1048576))};
}

ChainCosts chain_costs(PlannerInfo* root, const JoinInputs& inputs, const EngineCosts& engine) {
    ChainCosts costs = estimate_chain(root, inputs, engine);
    if (!is_spilled(engine, costs.server_bytes)) return costs;
    const BuildSides sides = build_sides(root, inputs, costs.server_bytes);
    const BuildSide* divided = largest(sides);
    const double partitions = count_partitions(*divided, engine, costs.server_bytes);
    const double shares = parallel_shares(inputs.workers);
    Cost spilling = attempt_cost(sides, shortage(engine, costs.server_bytes));
    spilling += divided->has_keys ? dividing_cost(inputs, *divided, engine, costs.server_bytes)
                                  : cutting_cost(inputs, *divided, partitions, costs.terms);
    for (const BuildSide& side : std::span(sides.side, sides.count))
        if (&side != divided) spilling += repetition_cost(side, engine, partitions, shares);
    spilling += partitions / shares * (engine.setup + (sides.count - 1) * engine.stage);
    costs.terms.cost[kSpillTerm] = spilling + costs.kept_builds;
    costs.kept = 0;
    costs.partitions = partitions;
    return costs;
}

}  // namespace gpujoin
