// The cost model: every row and byte is charged once for each thing that happens to it, each to a term of its
// own (see CostTerm) that EXPLAIN VERBOSE shows.
//
//   set-up      gpujoin.startup_cost, and an empty join in the engine for each stage. The first is more than
//   a join takes which
//               has a machine to itself: each process that has a part in it may have to wait for a processor
//               that other sessions use
//   workers     the same round trips once more, where workers attach
//   read        what core charges for the input, less what is saved where tables are read from their pages
//   encode      gpujoin.encode_cost a value, kCopyCost for the bytes of values that have no fixed width, and
//               kComputing for those that conditions of both sides compute
//   transfer    gpujoin.transfer_cost a megabyte, to the engine and back; of the columns that later stages
//   and
//               groups read, for rows that come so far (a GPU has all sent, which takes little)
//   build       gpujoin.build_cost a row, times log2(rows) / 5 where a range needs it sorted
//   probe       gpujoin.probe_cost a row, times the same where a range searches a tree
//   expansion   gpujoin.match_cost for each candidate; where only conditions tell which pairs match, all of
//               them are tested, at gpujoin.pair_cost each on the CPU engine, and less on devices in the
//               measure that probing costs less there
//   aggregate   gpujoin.match_cost for each key and aggregate of a row that is aggregated
//   spill       what does not fit is written and read (spilling.h)
//   emission    gpujoin.emit_cost a row, what is computed on it, and the residual for each candidate; for
//   each
//               column of a group
//
// In a chain each stage adds its terms; rows between stages stay in the engine. Where core takes an
// undeclared key for conditions that have nothing to do with each other, terms are for as many rows as are
// likely (undeclared_keys.h), and those that come out beside what core expects are charged for what they cost
// above. So are, in parallel plans, the many results of few probe rows, of which one process may have most.
//
// Units are the planner's: what core's hash join takes kNanosecondsPerUnit for where both ways to run a join
// take about the same time, since only there the choice is close. What the executor does has constants here
// or in settings; what the engine does has been measured on the device in use (calibration, see
// server/calibration.h) unless a setting says otherwise. What the constants were taken from is in
// docs/measurements/tried.md.
//
// A row that is read from its page is charged kDirectReadShare of cpu_tuple_cost, which stands for core's
// scan; where all its conditions are tested as core tests them, all of it if it does not meet them. Pages
// cost as core says: nothing is saved on them, or a serial GPU Join would seem to read as quickly as eight of
// core's workers.
//
// But core charges each of several processes for all pages, though they share them, and what core does beside
// reading takes as long as that; so that one process seems to be as quick as five where we do little beside.
// What it takes longer is told apart (lone_reading), since it does not count next to plans of one process.
//
// Rows whose columns are kept (docs/design.md) are neither read nor encoded: below aggregates they are
// charged kKeptRow, whether they meet the conditions or not.
//
// In parallel plans a participant is charged for its part of the rows, but for all of the server's work: the
// server is one for all, and each of them waits for it.
//
// What a range returns is nearly unknown to core, so beyond kTrustedFanout results an input row its estimate
// is not charged for: the inputs' sizes decide first.
#include "pg/planner/cost.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "pg/planner/core_calls.h"
#include "pg/planner/grouped_query.h"
#include "pg/planner/kept.h"
#include "pg/planner/path_facts.h"
#include "pg/planner/relation_notes.h"
#include "pg/settings.h"

extern "C" {
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/spccache.h"
}

namespace gpujoin {
namespace {

constexpr double kMegabyte = 1024.0 * 1024.0;
constexpr double kNanosecondsPerUnit = 5000;
constexpr double kDirectReadShare = 0.35;  // of cpu_tuple_cost, for a row that is read from its page
constexpr int kLittleMemoryMb = 64;        // for kept rows that are probed with, of a join
constexpr double kKeptRow = 0.0003;        // a row of a table whose columns are kept
constexpr double kCopyCost = 10;           // a megabyte copied by the executor
constexpr double kExposed = 0.25;          // of transfer and probing: the rest is hidden behind reading
constexpr double kComputing = 2;           // times what core charges an expression: a call and a value each
constexpr double kTrustedFanout = 32;      // results an input row
constexpr double kLevelsPerHash = 5;       // levels of a sort or a search that cost as much as a hash
constexpr double kServerBytesPerBuildRow = 48;  // table or tree, at its peak while sealing
constexpr double kNodesAbove = 2;               // of core's, that a row goes through
constexpr double kRowsOfPortion = 8192;         // about, of a probe input that several processes share
// So many rows one process reads rather than core's workers, so that they are kept from now on. Larger tables
// are when that pays (prospects.h).
constexpr double kSoonRead = 250000;

// Of the CPU engine on the two processors of docs/performance.md: for a device that was not measured, for
// what was too short to tell (0) on one that was busy, and for plans that shall be the same on every machine.
// No device in use is taken to be slower with rows than kBusy times that: when it was measured, the machine
// had other things to do.
constexpr EngineRates kUnmeasured = {65000, 12, 3.5, 4, 0.4};
constexpr double kBusy = 2;

double trusted_ns(double measured_ns, double unmeasured_ns) {
    return measured_ns > 0 ? std::min(measured_ns, kBusy * unmeasured_ns) : unmeasured_ns;
}

// share: of what it takes, that is charged for.
Cost cost_of(double setting, double share, double measured_ns, double unmeasured_ns) {
    if (setting >= 0) return setting;
    return share * trusted_ns(measured_ns, unmeasured_ns) / kNanosecondsPerUnit;
}

// As get_typlen(), without a look into the catalog for the types of most columns.
int type_length(Oid type) {
    switch (type) {
        case BOOLOID:
            return 1;
        case INT2OID:
            return 2;
        case INT4OID:
        case OIDOID:
        case FLOAT4OID:
        case DATEOID:
            return 4;
        case INT8OID:
        case FLOAT8OID:
        case TIMESTAMPOID:
        case TIMESTAMPTZOID:
            return 8;
        case TEXTOID:
        case VARCHAROID:
        case BPCHAROID:
        case NUMERICOID:
            return -1;
        default:
            return get_typlen(type);
    }
}

// As exprType(), without a call for what most expressions are: this is asked for each column and pair of
// relations.
Oid type_of(const Node* expression) {
    return IsA(expression, Var) ? reinterpret_cast<const Var*>(expression)->vartype : exprType(expression);
}

// Whether PostgreSQL may have to look at pairs that the engine finds.
bool needs_columns(const JoinClauses* clauses) {
    return clauses && (clauses->residual || may_be_undecided(filter_of(clauses).program));
}

// Wanted columns travel with the build side, unless only whether a row matched matters.
RowShape output_shape(const JoinInputs& inputs) {
    if (rows_of(inputs.facts->kind).is_decided_by_first_match() && !needs_columns(inputs.facts->clauses))
        return {};
    return inputs.facts->build_columns;
}

double all_pairs(const JoinInputs& inputs) {
    return inputs.probe_rows() * inputs.build->rows;
}

Relids probe_relids(const JoinInputs& inputs) {
    return inputs.before ? inputs.before->joinrel->relids : inputs.probe->parent->relids;
}

// Pairs that satisfy the terms and conditions, before the residual decides.
double candidate_pairs(PlannerInfo* root, const JoinInputs& inputs) {
    SpecialJoinInfo join = inner_join_of(probe_relids(inputs), inputs.build->parent->relids);
    auto selectivity = [&](RestrictInfo* source) {
        return clause_selectivity(root, reinterpret_cast<Node*>(source), 0, JOIN_INNER, &join);
    };
    double pairs = all_pairs(inputs);
    const RestrictInfo* previous = nullptr;  // a condition may have become two terms, one after the other
    for (const List* terms :
         {inputs.facts->clauses->equalities, inputs.facts->clauses->ranges, inputs.facts->clauses->filters}) {
        ListCell* cell;
        foreach (cell, terms) {
            RestrictInfo* source = static_cast<JoinTerm*>(lfirst(cell))->source;
            if (source != previous) pairs *= selectivity(source);
            previous = source;
        }
    }
    ListCell* cell;
    foreach (cell, inputs.facts->clauses->conditions) pairs *= selectivity(lfirst_node(RestrictInfo, cell));
    return pairs;
}

// Rows that come out of the engine.
double engine_results(PlannerInfo* root, const JoinInputs& inputs) {
    double results = inputs.rows * inputs.facts->underestimate;
    if (inputs.facts->clauses && (inputs.facts->clauses->residual || inputs.facts->clauses->pushed_down))
        results = std::max(results, candidate_pairs(root, inputs));
    if (!inputs.facts->clauses || inputs.facts->clauses->ranges || !inputs.facts->clauses->searchable)
        results = std::min(results, kTrustedFanout * (inputs.probe_rows() + inputs.build->rows));
    return results;
}

// Rows that come out beside those that core expects, and that no node of its above is charged for.
double unexpected_rows(const JoinInputs& inputs) {
    return inputs.rows * (inputs.facts->underestimate - 1);
}

// Results that the process with most of them has beyond its share: rows that are probed with come to
// processes in portions, of which there are few where they are, and each may have many results.
double uneven_rows(const JoinInputs& inputs) {
    if (inputs.workers == 0) return 0;
    const double shares = parallel_shares(inputs.workers);
    const double source_rows = likely_rows(inputs.probe);
    const double portions = std::max(source_rows * shares / kRowsOfPortion, 1.0);
    return std::max(inputs.rows - source_rows, 0.0) * std::min(shares - 1, shares / portions);
}

// The pairs that conditions are tested on for want of anything to search by, for all participants.
double tested_pairs(const JoinInputs& inputs, double shares) {
    if (!inputs.facts->clauses || inputs.facts->clauses->searchable) return 0;
    return all_pairs(inputs) * shares * (inputs.builds_together ? shares : 1);
}

// How many times the work of a hash lookup a row takes.
double search_depth(const JoinInputs& inputs) {
    return inputs.facts->clauses && inputs.facts->clauses->ranges
               ? std::max(1.0, std::log2(inputs.build->rows + 2) / kLevelsPerHash)
               : 1.0;
}

// What the executor reads from pages rather than through the scan node: columns of a plain sequential scan.
bool is_read_directly(const Path* child) {
    if (child->pathtype != T_SeqScan) return false;
    ListCell* cell;
    foreach (cell, child->pathtarget->exprs)
        if (!IsA(lfirst(cell), Var)) return false;
    return true;
}

const Node* strip_relabelling(const Node* expression) {
    while (IsA(expression, RelabelType))
        expression = reinterpret_cast<const Node*>(reinterpret_cast<const RelabelType*>(expression)->arg);
    return expression;
}

// Whether a condition is one that the executor tests on all rows of a page at once, about: a comparison of a
// column with a constant.
bool is_tested_by_page(const RestrictInfo* condition) {
    if (!IsA(condition->clause, OpExpr)) return false;
    int columns = 0;
    ListCell* cell;
    foreach (cell, reinterpret_cast<const OpExpr*>(condition->clause)->args) {
        const Node* operand = strip_relabelling(static_cast<const Node*>(lfirst(cell)));
        int width = type_length(type_of(operand));
        if (width != 2 && width != 4 && width != 8) return false;
        columns += IsA(operand, Var);
        if (!IsA(operand, Var) && !IsA(operand, Const) && !IsA(operand, Param)) return false;
    }
    return columns == 1;
}

// Rows that are read from their page without going through a slot before: all, unless core tests all
// conditions.
double rows_read_directly(const Path* child) {
    bool is_tested_by_core = child->parent->baserestrictinfo != NIL;
    ListCell* cell;
    foreach (cell, child->parent->baserestrictinfo)
        if (is_tested_by_page(lfirst_node(RestrictInfo, cell))) is_tested_by_core = false;
    return is_tested_by_core ? child->rows : child->parent->tuples / parallel_shares(child->parallel_workers);
}

Cost read_saving(const Path* child) {
    if (!is_read_directly(child)) return 0;
    return (1 - kDirectReadShare) * cpu_tuple_cost * rows_read_directly(child);
}

// Of a table's pages, that part which several processes would share.
Cost lone_reading_cost(const Path* input) {
    const RelOptInfo* rel = input->parent;
    if (input->parallel_workers > 0 || input->pathtype != T_SeqScan || rel->partial_pathlist == NIL) return 0;
    const auto* shared = static_cast<const Path*>(linitial(rel->partial_pathlist));
    double page_cost;
    get_tablespace_page_costs(rel->reltablespace, nullptr, &page_cost);
    return page_cost * rel->pages * (1 - 1 / parallel_shares(shared->parallel_workers));
}

Cost condition_cost(PlannerInfo* root, const JoinClauses* clauses, QualCost* condition) {
    *condition = {};
    if (!clauses) return 0;
    QualCost pushed_down;
    cost_qual_eval(condition, clauses->residual, root);
    cost_qual_eval(&pushed_down, clauses->pushed_down, root);
    condition->per_tuple += pushed_down.per_tuple;
    return condition->startup + pushed_down.startup;
}

// Kept rows are neither read nor encoded: of these terms an input's share, the first of which is reading.
// Gives what that saves.
Cost spare_kept_rows(const Path* input, double kept, std::initializer_list<Cost*> terms) {
    if (kept == 0) return 0;
    const Cost reading = kept * input->parent->tuples * kKeptRow;
    Cost saved = -reading;
    for (Cost* term : terms) {
        saved += kept * *term;
        *term *= 1 - kept;
    }
    **terms.begin() += reading;
    return saved;
}

void spare_kept_source(const Path* probe, double kept, CostTerms* terms) {
    double* cost = terms->cost;
    spare_kept_rows(probe, kept, {&cost[kReadProbeTerm], &cost[kEncodeProbeTerm], &cost[kTransferProbeTerm]});
}

bool is_gathered_scan(const Path* path) {
    path = strip_projection(path);
    return IsA(path, GatherPath) &&
           strip_projection(reinterpret_cast<const GatherPath*>(path)->subpath)->pathtype == T_SeqScan;
}

// What gives the path its rows, which may then be computed with, sorted, and gathered from workers.
const Path* source_of_rows(const Path* path) {
    for (;;) {
        path = strip_projection(path);
        if (IsA(path, GatherPath))
            path = reinterpret_cast<const GatherPath*>(path)->subpath;
        else if (IsA(path, GatherMergePath))
            path = reinterpret_cast<const GatherMergePath*>(path)->subpath;
        else if (IsA(path, SortPath))
            path = reinterpret_cast<const SortPath*>(path)->subpath;
        else
            return path;
    }
}

// Whether a sequential scan of its relation gives the same rows: not so of what samples a table, or reads one
// with those that inherit from it.
bool can_be_replaced(const Path* path) {
    if (PATH_REQ_OUTER(path)) return false;
    switch (source_of_rows(path)->pathtype) {
        case T_SeqScan:
        case T_IndexScan:
        case T_IndexOnlyScan:
        case T_BitmapHeapScan:
            return true;
        default:
            return false;
    }
}

// Lives as long as the relation.
Path* kept_scan(PlannerInfo* root, RelOptInfo* rel) {
    RelationNotes* notes = make_notes(rel);
    if (notes->kept_scan) return notes->kept_scan;
    MemoryContext caller = MemoryContextSwitchTo(GetMemoryChunkContext(rel));
    notes->kept_scan = create_seqscan_path(root, rel, nullptr, 0);
    MemoryContextSwitchTo(caller);
    return notes->kept_scan;
}

bool uses_kept_sources(const PlannerInfo* root) {
    return setting_aggregate && has_groups(root->parse);
}

}  // namespace

EngineCosts engine_costs(const PlanningFacts& server) {
    const EngineRates& rates = server.rates.setup_ns > 0 && !setting_force ? server.rates : kUnmeasured;
    const EngineRates& usual = kUnmeasured;
    EngineCosts costs;
    costs.memory = setting_force ? 0 : server.host_memory;
    costs.setup = rates.setup_ns / kNanosecondsPerUnit;
    costs.stage = trusted_ns(rates.setup_ns, usual.setup_ns) / kNanosecondsPerUnit;
    costs.build_row = cost_of(setting_build_cost, 1, rates.build_ns, usual.build_ns);
    costs.probe_row = cost_of(setting_probe_cost, kExposed, rates.probe_ns, usual.probe_ns);
    costs.match = cost_of(setting_match_cost, kExposed, rates.match_ns, usual.match_ns);
    costs.pair = setting_pair_cost *
                 (trusted_ns(rates.probe_ns, usual.probe_ns) + trusted_ns(rates.match_ns, usual.match_ns)) /
                 (usual.probe_ns + usual.match_ns);
    costs.megabyte = cost_of(setting_transfer_cost, kExposed, rates.transfer_ns * kMegabyte,
                             usual.transfer_ns * kMegabyte);
    return costs;
}

RowShape wanted_shape(const PathTarget* target) {
    RowShape shape;
    shape.values = list_length(target->exprs);
    shape.bytes = shape.copied_bytes = target->width;
    ListCell* cell;
    foreach (cell, target->exprs) {
        int width = type_length(type_of(static_cast<Node*>(lfirst(cell))));
        if (width > 0 && width <= 16) shape.copied_bytes -= width;
    }
    shape.copied_bytes = std::max(shape.copied_bytes, 0.0);
    return shape;
}

// Of what filter programs read. Core computes it for those pairs only that earlier conditions let through.
Cost computing_cost(PlannerInfo* root, Node* expression) {
    if (IsA(expression, Var)) return 0;
    QualCost cost;
    cost_qual_eval_node(&cost, expression, root);
    return kComputing * cost.per_tuple;
}

RowShape key_shape(PlannerInfo* root, const JoinClauses* clauses, bool of_build) {
    RowShape shape;
    const JoinFilter& filter = filter_of(clauses);
    const FilterValues& values = of_build ? filter.build : filter.probe;
    shape.values = values.values.count;
    for (int i = 0; i < values.values.count; i++)
        shape.bytes += fixed_width(column_of(values.values.value[i].encoding).type);
    ListCell* value;
    foreach (value, values.expressions)
        shape.computing += computing_cost(root, static_cast<Node*>(lfirst(value)));
    for (const List* terms : {clauses->equalities, clauses->ranges, clauses->filters}) {
        ListCell* cell;
        foreach (cell, terms) {
            const JoinTerm* term = static_cast<JoinTerm*>(lfirst(cell));
            Node* key =
                static_cast<Node*>(of_build ? lsecond(term->clause->args) : linitial(term->clause->args));
            ColumnType type = column_of(term->plan.encoding).type;
            bool is_fixed = type != ColumnType::Bytes;
            double bytes = is_fixed ? fixed_width(type) : get_typavgwidth(exprType(key), exprTypmod(key));
            shape.values++;
            shape.bytes += bytes;
            if (!is_fixed) shape.copied_bytes += bytes;
        }
    }
    return shape;
}

int participants(const JoinInputs& inputs) {
    bool leader = inputs.workers == 0 || parallel_leader_participation;
    return inputs.workers + (leader ? 1 : 0);
}

double parallel_shares(int workers) {
    if (workers == 0) return 1;
    return workers + (parallel_leader_participation ? std::max(0.0, 1 - 0.3 * workers) : 0);
}

Cost encode_cost(double rows, const RowShape& shape) {
    return rows * (shape.values * setting_encode_cost + shape.copied_bytes / kMegabyte * kCopyCost +
                   shape.computing);
}

Cost sorting_cost(double rows) {
    return 2 * cpu_operator_cost * rows * std::log2(std::max(rows, 2.0));
}

Cost set_up_cost(const EngineCosts& engine) {
    return setting_startup_cost + engine.setup;
}

Cost reading_cost(const Path* input) {
    return input->total_cost - read_saving(input);
}

Path* cheapest_build_scan(PlannerInfo* root, RelOptInfo* rel) {
    Path* cheapest = rel->cheapest_total_path;
    if (cheapest->pathtype == T_SeqScan || !can_be_replaced(cheapest) || !enable_seqscan) return cheapest;
    if (rel->lateral_relids) return cheapest;
    double kept = kept_share_of_rel(root, rel);
    if (kept == 0) {
        const bool is_soon_read = rel->tuples <= kSoonRead && is_gathered_scan(cheapest);
        return is_soon_read && may_be_kept(root, rel) ? kept_scan(root, rel) : cheapest;
    }
    Path* scan = kept_scan(root, rel);
    Cost read = reading_cost(scan);
    spare_kept_rows(scan, kept, {&read});
    return read < reading_cost(cheapest) ? scan : cheapest;
}

Path* cheapest_probe_scan(PlannerInfo* root, RelOptInfo* rel) {
    return kept_share_of_rel(root, rel) > 0 ? cheapest_build_scan(root, rel) : rel->cheapest_total_path;
}

Path* cheapest_source_scan(PlannerInfo* root, RelOptInfo* rel) {
    return uses_kept_sources(root) ? cheapest_build_scan(root, rel) : cheapest_probe_scan(root, rel);
}

bool is_bounded(const PlannerInfo* root) {
    const Query* query = root->parse;
    return root->tuple_fraction > 0 && root->query_pathkeys == NIL && !query->hasAggs &&
           query->groupClause == NIL;
}

bool can_carry_kept_rows(const PlannerInfo* root, JoinKind kind, const JoinClauses* clauses,
                         Sharing sharing) {
    if (sharing == Sharing::Probe || is_bounded(root) || rows_of(kind).scans_build()) return false;
    const bool has_little = setting_max_join_memory > 0 && setting_max_join_memory < kLittleMemoryMb;
    if (sharing != Sharing::Nothing && has_little) return false;  // a parallel join cannot begin again
    return kind == JoinKind::Inner || !needs_columns(clauses);
}

Cost least_cost(const Path* probe, const ChainCosts& costs) {
    CostTerms terms = costs.terms;
    spare_kept_source(probe, costs.kept, &terms);
    return sum_of(terms);
}

Cost sum_of(const CostTerms& terms) {
    return std::accumulate(terms.cost, terms.cost + kCostTermCount, Cost{0});
}

ChainCosts estimate_source(PlannerInfo* root, const Path* probe, int workers, const EngineCosts& engine) {
    ChainCosts costs = {};
    costs.kept = kept_share_of_source(root, probe);
    costs.source_rows = costs.rows = likely_rows(probe);
    costs.partitions = 1;
    costs.terms.cost[kSetUpTerm] = setting_startup_cost;
    costs.terms.cost[kWorkersTerm] = workers > 0 ? set_up_cost(engine) : 0;
    costs.terms.cost[kReadProbeTerm] = reading_cost(probe);
    costs.lone_source = lone_reading_cost(probe);
    return costs;
}

ChainCosts estimate_chain(PlannerInfo* root, const JoinInputs& inputs, const EngineCosts& engine) {
    const JoinFacts& facts = *inputs.facts;
    RowShape output = output_shape(inputs);
    double build_rows = likely_rows(inputs.build);
    double probe_rows = inputs.probe_rows();
    double source_rows = likely_rows(inputs.probe);

    // What the server does for all participants.
    double shares = parallel_shares(inputs.workers);
    double copies = inputs.sharing == Sharing::Probe ? participants(inputs)
                    : inputs.builds_together         ? shares
                                                     : 1;
    double built_rows = build_rows * copies;
    double depth = search_depth(inputs);
    bool is_first = !inputs.before;

    ChainCosts costs =
        is_first ? estimate_source(root, inputs.probe, inputs.workers, engine) : inputs.before->costs;
    costs.source_rows = source_rows;
    costs.rows = engine_results(root, inputs);
    costs.output += output;
    double* terms = costs.terms.cost;
    terms[kSetUpTerm] += is_first ? engine.setup : engine.stage;
    Cost read = reading_cost(inputs.build);
    Cost encode = encode_cost(build_rows, facts.build_keys) + encode_cost(build_rows, output);
    Cost transfer = built_rows * (facts.build_keys.bytes + output.bytes) / kMegabyte * engine.megabyte;
    const double kept = inputs.sharing != Sharing::Probe ? kept_share_of(root, inputs.build) : 0;
    costs.kept_builds += spare_kept_rows(inputs.build, kept, {&read, &encode, &transfer});
    if (inputs.workers == 0) costs.lone_builds += (1 - kept) * lone_reading_cost(inputs.build);
    terms[kReadBuildTerm] += read;
    terms[kEncodeBuildTerm] += encode;
    terms[kTransferBuildTerm] += transfer;
    terms[kBuildTerm] += built_rows * engine.build_row * depth;
    terms[kEncodeProbeTerm] += encode_cost(probe_rows, facts.probe_keys);
    terms[kTransferProbeTerm] += source_rows * facts.probe_keys.bytes * shares / kMegabyte * engine.megabyte;
    terms[kProbeTerm] += probe_rows * shares * engine.probe_row * depth;
    terms[kExpansionTerm] += costs.rows * shares * engine.match + tested_pairs(inputs, shares) * engine.pair;
    costs.server_bytes += built_rows * (facts.build_keys.bytes + output.bytes + kServerBytesPerBuildRow);
    return costs;
}

namespace {

bool carries_kept_rows(const PlannerInfo* root, const JoinInputs& inputs, const ChainCosts& chain) {
    const JoinFacts& facts = *inputs.facts;
    return chain.kept > 0 && can_carry_kept_rows(root, facts.kind, facts.clauses, inputs.sharing);
}

// What is kept of the probe input comes back with the results.
void carry_kept_rows(const JoinInputs& inputs, const ChainCosts& chain, const EngineCosts& engine,
                     CostTerms* terms) {
    const JoinFacts& facts = *inputs.facts;
    spare_kept_source(inputs.probe, chain.kept, terms);
    const double width =
        inputs.before ? wanted_shape(inputs.probe->pathtarget).bytes : facts.probe_columns.bytes;
    const double rows = chain.rows * parallel_shares(inputs.workers);
    terms->cost[kTransferProbeTerm] += rows * width / kMegabyte * engine.megabyte;
}

}  // namespace

JoinEstimate estimate_join(PlannerInfo* root, const PathTarget* target, const JoinInputs& inputs,
                           const ChainCosts& chain, const EngineCosts& engine) {
    QualCost condition;
    Cost startup = condition_cost(root, inputs.facts->clauses, &condition) + target->cost.startup;

    JoinEstimate estimate = {};
    estimate.terms = chain.terms;
    double* terms = estimate.terms.cost;
    terms[kSetUpTerm] += startup;
    terms[kEncodeProbeTerm] +=
        encode_cost(chain.source_rows,
                    inputs.before ? wanted_shape(inputs.probe->pathtarget) : inputs.facts->probe_columns);
    terms[kTransferProbeTerm] +=
        chain.rows * chain.output.bytes * parallel_shares(inputs.workers) / kMegabyte * engine.megabyte;
    const bool carries = carries_kept_rows(root, inputs, chain);
    if (carries) carry_kept_rows(inputs, chain, engine, &estimate.terms);
    estimate.lone_reading = chain.lone_source * (carries ? 1 - chain.kept : 1) + chain.lone_builds;
    terms[kEmissionTerm] = chain.rows * (setting_emit_cost + condition.per_tuple) +
                           inputs.rows * target->cost.per_tuple +
                           (unexpected_rows(inputs) + uneven_rows(inputs)) * kNodesAbove * cpu_tuple_cost;

    Cost before_probe = std::accumulate(terms, terms + kFirstProbeTerm, Cost{0});
    Cost before_emission = std::accumulate(terms + kFirstProbeTerm, terms + kEmissionTerm, before_probe);
    bool emits_at_end = !rows_of(inputs.facts->kind).has_probe_columns();
    estimate.startup_cost = emits_at_end ? before_emission : before_probe + inputs.probe->startup_cost;
    estimate.total_cost = before_emission + terms[kEmissionTerm];
    estimate.server_bytes = chain.server_bytes;
    return estimate;
}

// What is read of them does not go through the engine.
JoinEstimate estimate_rows(const Chain* chain, const PathTarget* target, const EngineCosts& engine) {
    JoinEstimate estimate = {};
    estimate.terms = chain->costs.terms;
    double* terms = estimate.terms.cost;
    spare_kept_source(chain->probe, chain->costs.kept, &estimate.terms);
    const double rows = chain->costs.rows * chain->costs.kept;
    terms[kSetUpTerm] += target->cost.startup;
    terms[kTransferProbeTerm] += rows * wanted_shape(target).bytes / kMegabyte * engine.megabyte;
    terms[kExpansionTerm] = rows * engine.match;
    terms[kEmissionTerm] = rows * setting_emit_cost + chain->costs.rows * target->cost.per_tuple;
    estimate.total_cost = sum_of(estimate.terms);
    estimate.startup_cost = estimate.total_cost - terms[kEmissionTerm];
    return estimate;
}

JoinEstimate estimate_groups(const Chain* chain, const GroupsShape& shape, const EngineCosts& engine) {
    double shares = parallel_shares(chain->workers);
    JoinEstimate estimate = {};
    estimate.terms = chain->costs.terms;
    double* terms = estimate.terms.cost;
    terms[kEncodeProbeTerm] += encode_cost(chain->costs.source_rows, shape.source);
    terms[kTransferProbeTerm] +=
        chain->costs.rows * shape.source.bytes * shares / kMegabyte * engine.megabyte;
    if (shape.may_be_kept) spare_kept_source(chain->probe, chain->costs.kept, &estimate.terms);
    terms[kAggregateTerm] = chain->costs.rows * shares * shape.work * engine.match;
    terms[kEmissionTerm] = shape.groups * shape.columns * setting_emit_cost;
    estimate.total_cost = sum_of(estimate.terms);
    estimate.startup_cost = estimate.total_cost - terms[kEmissionTerm];
    estimate.server_bytes = chain->costs.server_bytes;
    return estimate;
}

}  // namespace gpujoin
