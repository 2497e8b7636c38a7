// See reasons.h. {condition} and {subject} stand for what a refusal names.
#include "pg/planner/reasons.h"

#include <cstring>

#include "pg/compat.h"
#include "pg/settings.h"

extern "C" {
#include "lib/stringinfo.h"
}

namespace gpujoin {
namespace {

struct Wording {
    Reason reason;
    const char* text;
    const char* advice;  // nullptr: nothing would change it
};

constexpr const char* kAddKey = "add an equality or a range between both sides to the join's condition";
constexpr const char* kCompare =
    "compare both with EXPLAIN (ANALYZE): SET gpujoin.force = on, and gpujoin.enabled = off; if the planner "
    "is "
    "wrong, lower gpujoin.startup_cost, or see Costs in docs/tuning.md";

constexpr Wording kWordings[] = {
    {Reason::Disabled, "gpujoin.enabled is off", "SET gpujoin.enabled = on"},
    {Reason::NotReady, "the server is not ready, so that core plans everything",
     "SELECT reason FROM gpujoin_status() tells why it is not"},
    {Reason::NotAsked, "the planner has not asked gpujoin",
     "if SELECT reason FROM gpujoin_status() names another extension, let that one come first in "
     "shared_preload_libraries"},

    {Reason::Lateral, "one side depends on the rows of other tables (LATERAL, or a subquery's parameters)",
     "write the dependence as a condition of the join"},
    {Reason::TablelessCondition,
     "the condition {condition} is about no table, and up to PostgreSQL 16 only core can test such a "
     "condition of a join",
     "leave that condition out of the query"},
    {Reason::WorkingTable,
     "the working table of a recursive query is joined, which mostly has few rows, again and again",
     "SET gpujoin.force = on takes such joins too"},
    {Reason::RecordColumn,
     "a CTE or a subquery has a column of type record, whose fields EXPLAIN (VERBOSE) could not name",
     "give the fields as columns of their own"},
    {Reason::TooManyColumns, "it has more keys and columns than a batch may have",
     "select fewer columns of the table"},
    {Reason::Memory, "its build side is expected to take {subject} of memory, more than a join may take",
     "raise gpujoin.host_memory, or gpujoin.max_join_memory or temp_file_limit where these are set"},

    {Reason::Volatile,
     "{condition} calls {subject}, which is volatile and has to be called for each pair of rows",
     "a function that gives the same result for the same arguments can be declared IMMUTABLE, or STABLE"},
    {Reason::SubPlan, "{condition} contains a subquery that is executed for each pair of rows",
     "write the subquery as a join"},
    {Reason::NondeterministicCollation,
     "{condition} compares by the nondeterministic collation {subject}, where equal values may have "
     "different bytes",
     "compare by a deterministic collation: COLLATE"},
    {Reason::RangeCollation,
     "{condition} orders by the collation {subject}, and the engine orders texts by their bytes",
     "compare by the collation \"C\", if its order will do: COLLATE \"C\""},
    {Reason::TimeZone, "the outcome of {condition} depends on the setting TimeZone",
     "bring both sides to one type first: AT TIME ZONE, or a column of that type"},
    {Reason::EqualityType, "{condition} compares values of type {subject}, which cannot be hashed",
     "compare by another type, as by a cast"},
    {Reason::RangeType, "{condition} orders values of type {subject}, which the engine cannot", kAddKey},
    {Reason::MayFail, "{condition} may raise an error for rows that core would not evaluate it for", kAddKey},
    {Reason::Operator, "the engine does not know the operator of {condition}, {subject}", kAddKey},
    {Reason::NotEvaluated,
     "{condition} is neither an equality nor a range, and the engine cannot evaluate it", kAddKey},
    {Reason::OnlyUnequal, "{condition} is true of nearly all pairs of rows: there is nothing to search by",
     kAddKey},
    {Reason::NoCondition, "there is no condition between both sides", kAddKey},

    {Reason::Dearer, nullptr, kCompare},
    {Reason::Lookups,
     "core's own plan looks the few rows that it needs up by an index; instead of that a GPU Join would read "
     "the whole table, and costs more than half as much",
     kCompare},
    {Reason::RangeLookups, "few rows look their range up by an index, which is likely to take less",
     kCompare},
    {Reason::StartsLater, "few of the rows are wanted at first, and core's plan begins to give them earlier",
     kCompare},
    {Reason::WholePlan, "the statement as a whole is expected to cost less with core's node here", kCompare},

    {Reason::AggregatesOff, "gpujoin.aggregate is off", "SET gpujoin.aggregate = on"},
    {Reason::GroupingSets, "it has GROUPING SETS, CUBE or ROLLUP", "UNION ALL of one query for each set"},
    {Reason::SetReturning, "a function that returns a set is in the select list",
     "call the function in a query above"},
    {Reason::Partitionwise, "core aggregates partition by partition",
     "SET enable_partitionwise_aggregate = off"},
    {Reason::OrderedAggregate,
     "{condition} has DISTINCT, ORDER BY or WITHIN GROUP, so that all of a group's values must come together",
     "make the rows distinct in a subquery first"},
    {Reason::NoPartialStates, "{condition} cannot be combined of parts of a group", nullptr},
    {Reason::UnknownAggregate, "the engine does not know the aggregate {condition}", nullptr},
    {Reason::FloatAggregatesOff,
     "gpujoin.float_aggregates is off, so that {condition} has core's last digits",
     "SET gpujoin.float_aggregates = on"},
    {Reason::Argument, "the engine cannot compute an argument or the FILTER of {condition}",
     "compute it of one table's columns, in a subquery or a generated column; numerics need a declared scale "
     "and at most 18 digits"},
    {Reason::KeyType, "values of type {subject} cannot be grouped by in the engine", nullptr},
    {Reason::KeyExpression,
     "{condition} is volatile, may raise an error, or is of several tables: the engine cannot group by it",
     "group by a column that has it"},
    {Reason::FewRows, "its input is expected to have {subject} rows, too few to gain anything", nullptr},
    {Reason::RowsComeBack,
     "the join below gives its rows back to PostgreSQL, because PostgreSQL decides about some of its pairs, "
     "or because that is cheaper",
     "leave out conditions of that join that are shown as its Residual Cond"},
    {Reason::NotClearlyCheaper,
     "core reads the same rows, and a GPU Aggregate is not expected to be cheaper by more than costs are "
     "wrong",
     kCompare},
};

const Wording& wording_of(Reason reason) {
    for (const Wording& wording : kWordings)
        if (wording.reason == reason) return wording;
    static const Wording none = {Reason::None, nullptr, nullptr};
    return none;
}

const char* filled_in(const char* text, const Refusal& refusal, const char* condition) {
    if (!text) return nullptr;
    const struct {
        const char* name;
        const char* value;
    } parts[] = {{"{condition}", condition}, {"{subject}", refusal.subject}};
    StringInfoData result;
    initStringInfo(&result);
    while (*text) {
        bool is_part = false;
        for (const auto& part : parts) {
            if (strncmp(text, part.name, strlen(part.name)) != 0) continue;
            appendStringInfoString(&result, part.value ? part.value : "it");
            text += strlen(part.name);
            is_part = true;
        }
        if (!is_part) appendStringInfoChar(&result, *text++);
    }
    return result.data;
}

}  // namespace

const char* reason_text(const Refusal& refusal, const char* condition) {
    return filled_in(wording_of(refusal.reason).text, refusal, condition);
}

const char* advice_text(const Refusal& refusal, const char* condition) {
    return filled_in(wording_of(refusal.reason).advice, refusal, condition);
}

const char* cost_text(const char* node, double core, double ours) {
    const double ratio = core > 0 ? ours / core : 0;
    const char* times = ratio < 1.1 ? "hardly" : psprintf("%.1f times", ratio);
    return psprintf("core's %s is expected to be %s cheaper: %.0f against %.0f", node, times, core, ours);
}

}  // namespace gpujoin
