// See prospects.h. What runs is not told which query it is a plan of, and plans are copied. So each process
// has the latest ones that it has planned in mind, and knows them by their cost and rows: hints are worth no
// more.
#include "pg/planner/prospects.h"

#include <algorithm>
#include <utility>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/entry_points.h"
#include "pg/keep_requests.h"
#include "pg/keeper_processes.h"
#include "pg/kept_tables.h"
#include "pg/planner/asked_plans.h"
#include "pg/planner/core_alone.h"
#include "pg/planner/decorrelation.h"
#include "pg/planner/kept_facts.h"
#include "pg/planner/looping_subplans.h"
#include "pg/planner/planned_loops.h"
#include "pg/planner/relation_notes.h"
#include "pg/planner/vain_hopes.h"
#include "pg/planner/verdicts.h"
#include "pg/server_state.h"
#include "pg/settings.h"

extern "C" {
#include "access/parallel.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "optimizer/optimizer.h"
#include "optimizer/planner.h"
#include "utils/memutils.h"
#include "utils/spccache.h"
}

namespace gpujoin {

// Of a query.
struct Prospect {
    uint64 number;  // by which it is known: a hash of the tables that are or could be kept, and their columns
    Relids tables;  // base relations that could be kept, and are not
    double making;  // what it takes to keep them: milliseconds of a processor,
    double waiting;  // by the clock, as what queries take is told,
    double bytes;
    bool has_kept;  // others are
    bool has_lost;  // some of them were
    KeptAdvice advice;
};

namespace {

// What it takes to read a page and a row, to write a value, and to call an operator.
constexpr double kPageNanoseconds = 1000;
constexpr double kRowNanoseconds = 50;
constexpr double kValueNanoseconds = 30;
constexpr double kOperatorNanoseconds = 60;
// Where all takes less, there is too little to gain, but where it has been kept before.
constexpr double kLeastMaking = 50;
// Of a table's pages: what was not vacuumed is not kept.
constexpr double kFewestVisible = 0.9;
// Of the memory for kept columns, and what a value takes there, about.
constexpr double kMostMemory = 0.5;
constexpr double kBytesOfValue = 4;

constexpr int kMostQueries = 8;  // of a statement
constexpr int kPlans = 64;
constexpr int kMostAttempts = 4;  // to plan a query anew

// The queries of a statement that there is something to be kept of.
struct Queries {
    bool is_only_explained;
    bool is_generic;    // a plan for all values of parameters, which may only be compared with others
    bool may_pretend;   // that what could be kept is
    bool has_keeper;    // who keeps what a plan asks for, with helpers
    bool may_be_asked;  // for what the plan would use if it were kept
    bool is_asked;      // the plan serves that alone
    TableSet counted;   // tables that are counted on to be kept
    bool is_confirmed;  // they are, in the forms that the plan wants
    int count;
    KeptRun run[kMostQueries];
};

struct KnownPlan {
    Cost cost;
    double rows;
    int relations;
    uint64
        confirmed_at;  // losses of kept columns until then, and 1: what it counts on was kept; 0: it does not
    Queries queries;
};

planner_hook_type next_planner;
ExecutorRun_hook_type next_run;
Queries* planned;  // of the statement that is planned; nullptr: none is
bool is_next_only_explained;
KnownPlan known_plans[kPlans];
int next_plan;

double making_time(const RelOptInfo* rel, const KeptFacts* facts, bool is_read_twice) {
    double row = kValueNanoseconds * bms_num_members(facts->attributes) +
                 kOperatorNanoseconds * facts->computing / std::max(cpu_operator_cost, 1e-9);
    double reading = kPageNanoseconds * rel->pages + kRowNanoseconds * rel->tuples;
    return (row * rel->tuples + (is_read_twice ? 0 : reading)) / 1e6;
}

template <typename Visit>
void visit_base_relations(const PlannerInfo* root, Visit visit) {
    for (int i = 1; i < root->simple_rel_array_size; i++) {
        RelOptInfo* rel = root->simple_rel_array[i];
        if (rel && rel->reloptkind == RELOPT_BASEREL) visit(rel);
    }
}

bool has_table(PlannerInfo* root, const Prospect* prospect, const ChunkKey& table) {
    for (int i = -1; (i = bms_next_member(prospect->tables, i)) >= 0;)
        if (kept_facts(root, root->simple_rel_array[i])->table == table) return true;
    return false;
}

uint64 hash_of_table(const KeptFacts* facts) {
    const auto* key = reinterpret_cast<const unsigned char*>(&facts->table);
    uint64 hash = hash_bytes_extended(key, sizeof facts->table, 0);
    for (int attribute = -1; (attribute = bms_next_member(facts->attributes, attribute)) >= 0;)
        hash = hash_combine64(hash, static_cast<uint64>(attribute));
    return hash;
}

void add_table(PlannerInfo* root, RelOptInfo* rel, Prospect* prospect) {
    const KeptFacts* facts = kept_facts(root, rel);
    if (!facts->may_be_kept || !facts->is_tested_by_kept || bms_is_empty(facts->attributes)) return;
    prospect->number = hash_combine64(prospect->number, hash_of_table(facts));
    prospect->has_kept |= facts->share > 0;
    if (facts->share > 0 || !facts->is_large || rel->allvisfrac < kFewestVisible) return;
    const double making = making_time(rel, facts, has_table(root, prospect, facts->table));
    prospect->making += making;
    prospect->waiting += making / (planned->has_keeper ? 1 + most_helpers(rel->pages / kChunkBlocks) : 1);
    prospect->bytes += kBytesOfValue * rel->tuples * bms_num_members(facts->attributes);
    prospect->has_lost |= facts->is_lost;
    prospect->tables = bms_add_member(prospect->tables, static_cast<int>(rel->relid));
}

// There is room for what was kept.
bool is_worthwhile(const Prospect* prospect) {
    const double room = kMostMemory * static_cast<double>(server_keep_memory());
    return prospect->has_lost || (prospect->making >= kLeastMaking && prospect->bytes <= room);
}

void note_query(const Prospect* prospect, bool has_more_to_keep) {
    if (prospect->advice == KeptAdvice::Pretend) return;
    KeptRun run = {prospect->number, KeptRun::Unkept};
    if (prospect->advice == KeptAdvice::Ignore)
        run.kind = KeptRun::Ignoring;
    else if (!has_more_to_keep)
        run.kind = KeptRun::Kept;
    planned->run[planned->count++] = run;
}

bool has_external_param(Node* node, void* context) {
    if (!node) return false;
    if (IsA(node, Param) && reinterpret_cast<const Param*>(node)->paramkind == PARAM_EXTERN) return true;
    if (IsA(node, RangeTblEntry)) return false;
    if (IsA(node, Query)) return walk_query(reinterpret_cast<Query*>(node), has_external_param, context);
    return walk_expression(node, has_external_param, context);
}

// Decides what is done about the prospect.
void look_at(PlannerInfo* root, Prospect* prospect) {
    const bool has_more = is_worthwhile(prospect);
    if (!has_more && !prospect->has_kept) return;
    if (planned->count == kMostQueries || planned->is_generic) return;
    prospect->advice =
        advise_on_kept(prospect->number, has_more && planned->may_pretend ? prospect->waiting : 0,
                       !planned->is_only_explained);
    note_query(prospect, has_more);
    if (prospect->advice != KeptAdvice::Pretend || planned->is_only_explained) return;
    planned->is_asked |= planned->may_be_asked;
    for (int i = -1; (i = bms_next_member(prospect->tables, i)) >= 0;)
        want_kept(root, root->simple_rel_array[i]);
}

const Prospect* find_prospect(PlannerInfo* root) {
    auto* prospect = zeroed<Prospect>();
    if (IsolationIsSerializable()) return prospect;
    visit_base_relations(root, [&](RelOptInfo* rel) { add_table(root, rel, prospect); });
    look_at(root, prospect);
    return prospect;
}

// Noted with all of the query's relations, since it is asked for with each pair of them.
const Prospect* prospect_of(PlannerInfo* root, RelOptInfo* rel) {
    if (!planned || rel->reloptkind != RELOPT_BASEREL) return nullptr;
    if (const Prospect* known = make_notes(rel)->prospect) return known;
    MemoryContext before = MemoryContextSwitchTo(GetMemoryChunkContext(rel));
    const Prospect* found = find_prospect(root);
    MemoryContextSwitchTo(before);
    visit_base_relations(root, [&](RelOptInfo* each) { make_notes(each)->prospect = found; });
    return found;
}

PlannedStmt* plan_as_ever(Query* query, const char* text, int options, ParamListInfo parameters) {
    if (next_planner) return next_planner(query, text, options, parameters);
    return standard_planner(query, text, options, parameters);
}

KnownPlan* find_plan(const PlannedStmt* statement) {
    const Plan* top = statement->planTree;
    for (KnownPlan& plan : known_plans)
        if (top && plan.cost == top->total_cost && plan.rows == top->plan_rows &&
            plan.relations == list_length(statement->relationOids))
            return &plan;
    return nullptr;
}

void note_plan(const PlannedStmt* statement, const Queries& queries) {
    KnownPlan* known = find_plan(statement);
    if (!known && queries.count == 0 && queries.counted.count == 0) return;
    if (!known) {
        known = &known_plans[next_plan];
        next_plan = (next_plan + 1) % kPlans;
    }
    const Plan* top = statement->planTree;
    const uint64 confirmed_at = queries.is_confirmed ? kept_losses() + 1 : 0;
    *known = {top->total_cost, top->plan_rows, list_length(statement->relationOids), confirmed_at, queries};
}

// Queries of functions that are evaluated meanwhile are planned within.
PlannedStmt* plan_noting(Query* query, const char* text, int options, ParamListInfo parameters,
                         Queries* queries) {
    Queries* const outer = planned;
    PlannedStmt* statement = nullptr;
    planned = queries;
    forget_influence();
    PG_TRY();
    { statement = plan_as_ever(query, text, options, parameters); }
    PG_FINALLY();
    { planned = outer; }
    PG_END_TRY();
    return statement;
}

struct Planned {
    PlannedStmt* statement;
    Queries queries;
};

// What counts on kept columns, and all that has been started and found to have them was kept then.
bool is_confirmed(const PlannedStmt* statement) {
    const KnownPlan* known = find_plan(statement);
    return known && known->confirmed_at == kept_losses() + 1;
}

// The tables that the plan counts on in vain. What it wants of them is asked for.
TableSet find_lacking(Planned* made, const char* text, ParamListInfo parameters) {
    TableSet in_vain = {};
    Queries* queries = &made->queries;
    if (queries->counted.count == 0) return in_vain;
    queries->is_confirmed = is_confirmed(made->statement);
    if (queries->is_confirmed) return in_vain;
    TableSet lacking;
    const bool are_all_known =
        find_lacking_tables(made->statement, text, parameters, !queries->is_only_explained, &lacking);
    for (int i = 0; i < queries->counted.count; i++)
        if (lacking.has(queries->counted.tables[i])) in_vain.add(queries->counted.tables[i]);
    queries->is_confirmed = are_all_known && in_vain.count == 0;
    return in_vain;
}

// Whether there are any that it was not planned without.
bool add_lacking(Planned* made, const char* text, ParamListInfo parameters, uint64 statement,
                 TableSet* lacking) {
    const TableSet more = find_lacking(made, text, parameters);
    if (more.count == 0) return false;
    std::for_each_n(more.tables, more.count, [=](const ChunkKey& table) { lacking->add(table); });
    if (!made->queries.is_only_explained) note_counted_in_vain(statement, *lacking);
    ereport(DEBUG1, (errmsg_internal("planning without kept columns of %d tables", lacking->count)));
    return true;
}

Planned plan_without(const TableSet& lacking, Query* query, const char* text, int options,
                     ParamListInfo parameters, Queries queries) {
    const TableSet* const before = set_lacking(lacking.count > 0 ? &lacking : nullptr);
    Planned made = {nullptr, queries};
    PG_TRY();
    { made.statement = plan_noting(query, text, options, parameters, &made.queries); }
    PG_FINALLY();
    { set_lacking(before); }
    PG_END_TRY();
    return made;
}

// A plan that was made as if all were kept tells what to ask the keeper for, and so does one that counts on
// what turns out not to be kept; another one is run, since these may take many times as long as core's. Only
// where scans keep what they read the first is run itself. The planner leaves nothing of the query that it
// was given.
Planned plan_that_may_keep(Query* query, const char* text, int options, ParamListInfo parameters) {
    Queries begun = {};
    begun.is_only_explained = !planned && is_next_only_explained;
    begun.is_generic = !parameters && has_external_param(reinterpret_cast<Node*>(query), nullptr);
    const bool may_be_started = setting_keep_in_background && !IsParallelWorker() && may_ask_for(query);
    begun.has_keeper = may_be_started;
    begun.may_be_asked = may_be_started && !begun.is_only_explained && !begun.is_generic;
    begun.may_pretend = begun.may_be_asked || !setting_keep_in_background;
    const uint64 number = may_be_started ? number_of_statement(query, text) : 0;
    TableSet lacking = counted_on_in_vain(number);
    const Query* const recorded = query;  // of these, all that is planned in its place
    for (int left = may_be_started ? kMostAttempts : 0;; left--) {
        Query* copy = left > 0 ? static_cast<Query*>(copyObjectImpl(query)) : nullptr;
        Planned made = plan_without(lacking, query, text, options, parameters, begun);
        bool is_last = !copy;
        if (!is_last && made.queries.is_asked) {
            if (call_keeper()) ask_keeper_for(made.statement, text, parameters);
        } else if (!is_last) {
            is_last = !add_lacking(&made, text, parameters, number, &lacking);
        }
        if (is_last) {
            record_also(query, recorded);
            return made;
        }
        record_also(query, copy);
        query = copy;
        begun.may_pretend = begun.may_be_asked = false;
    }
}

Planned plan_once(Query* query, const char* text, int options, ParamListInfo parameters) {
    if (setting_enabled && server_keep_memory() > 0)
        return plan_that_may_keep(query, text, options, parameters);
    return {plan_noting(query, text, options, parameters, nullptr), {}};
}

bool has_query(const Queries& queries, uint64 number) {
    return std::any_of(queries.run, queries.run + queries.count,
                       [number](const KeptRun& run) { return run.query == number; });
}

// A run of one plan counts for what the other would use, too; for what both read once.
void add_queries(const Queries& others, Queries* queries) {
    for (int i = 0; i < others.count && queries->count < kMostQueries; i++)
        if (!has_query(*queries, others.run[i].query)) queries->run[queries->count++] = others.run[i];
}

// Cursors may be those of UPDATE ... WHERE CURRENT OF, which must find the row's scan, and no join.
bool may_join_subqueries(int options) {
    return setting_enabled && setting_decorrelate && server_is_ready() && !(options & CURSOR_OPT_FAST_PLAN) &&
           !IsolationIsSerializable();
}

// Of a cursor the plan is the best for the first rows, which costs are not compared for.
bool may_be_left_to_core(const Query* query, int options) {
    return setting_enabled && !setting_force && server_is_ready() && !(options & CURSOR_OPT_FAST_PLAN) &&
           may_be_influenced(query);
}

// The planner leaves nothing of a statement that it was given.
struct Attempt {
    Query* spare;  // a copy; nullptr: it is not to be planned again
    Planned made;
    bool is_influenced;
};

Attempt attempt(Query* query, const char* text, int options, ParamListInfo parameters) {
    Attempt result = {};
    if (may_be_left_to_core(query, options)) result.spare = static_cast<Query*>(copyObjectImpl(query));
    const Influence outer = set_influence({});
    PG_TRY();
    {
        result.made = plan_once(query, text, options, parameters);
        result.is_influenced = is_influence_felt();
    }
    PG_FINALLY();
    { set_influence(outer); }
    PG_END_TRY();
    return result;
}

// What the plan could keep is known from the first one, and is none of core's.
PlannedStmt* plan_leaving_out(LeftOut left_out, const Query* query, const char* text, int options,
                              ParamListInfo parameters) {
    auto* copy = static_cast<Query*>(copyObjectImpl(query));
    const Influence outer = set_influence({left_out, false});
    PlannedStmt* statement = nullptr;
    Queries unused = {};
    unused.is_generic = true;
    PG_TRY();
    { statement = plan_noting(copy, text, options, parameters, &unused); }
    PG_FINALLY();
    { set_influence(outer); }
    PG_END_TRY();
    return statement;
}

// As core would, but for loops that we replace.
PlannedStmt* core_or(const Attempt& best, const char* text, int options, ParamListInfo parameters) {
    PlannedStmt* const made = best.made.statement;
    if (!best.spare || !best.is_influenced || !may_be_worse(made)) return made;
    PlannedStmt* core = plan_leaving_out(LeftOut::Everything, best.spare, text, options, parameters);
    if (has_blind_loop(core))
        core = plan_leaving_out(LeftOut::OurPaths, best.spare, text, options, parameters);
    if (!is_better(core, made)) return made;
    record_also(made, core);
    return core;
}

PlannedStmt* plan(Query* query, const char* text, int options, ParamListInfo parameters) {
    Query* joined = may_join_subqueries(options) ? decorrelated(query) : nullptr;
    Attempt best = attempt(query, text, options, parameters);
    if (joined && has_dear_subplans(best.made.statement)) {
        record_also(query, joined);
        Attempt other = attempt(joined, text, options, parameters);
        if (is_clearly_cheaper(other.made.statement, best.made.statement)) std::swap(best, other);
        add_queries(other.made.queries, &best.made.queries);
    }
    note_plan(best.made.statement, best.made.queries);
    PlannedStmt* const statement = core_or(best, text, options, parameters);
    if (statement != best.made.statement) note_plan(statement, best.made.queries);
    return statement;
}

void run(QueryDesc* query, ScanDirection direction, uint64 count RUN_ONCE_PARAMETER) {
    const bool is_first =
        ScanDirectionIsForward(direction) && !query->already_executed && !IsParallelWorker();
    const KnownPlan* known = is_first ? find_plan(query->plannedstmt) : nullptr;
    const Queries queries = known ? known->queries : Queries{};
    const TimestampTz start = queries.count > 0 ? GetCurrentTimestamp() : 0;
    if (next_run)
        next_run(query, direction, count RUN_ONCE_ARGUMENT);
    else
        standard_ExecutorRun(query, direction, count RUN_ONCE_ARGUMENT);
    const bool is_whole = count == 0 || query->estate->es_processed < count;
    for (int i = 0; is_whole && i < queries.count; i++)
        note_run(queries.run[i], static_cast<double>(GetCurrentTimestamp() - start) / 1000);
}

}  // namespace

double planned_kept_share(PlannerInfo* root, RelOptInfo* rel, double share) {
    const Prospect* prospect = prospect_of(root, rel);
    if (prospect && prospect->advice == KeptAdvice::Ignore) return 0;
    if (share > 0 && planned) planned->counted.add(kept_facts(root, rel)->table);
    if (!prospect || prospect->advice == KeptAdvice::AsItIs) return share;
    return bms_is_member(static_cast<int>(rel->relid), prospect->tables) ? 1 : share;
}

bool set_only_explained(bool is_only_explained) {
    const bool before = is_next_only_explained;
    is_next_only_explained = is_only_explained;
    return before;
}

void install_prospects() {
    if (!kKeepsColumns) return;
    next_planner = planner_hook;
    planner_hook = plan;
    next_run = ExecutorRun_hook;
    ExecutorRun_hook = run;
}

}  // namespace gpujoin
