// Why a join or an aggregate is left to core: all reasons, and how they read (gpujoin_why(), and the table in
// docs/troubleshooting.md).
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/nodes.h"
}

namespace gpujoin {

enum class Reason {
    None,
    // Of the whole statement.
    Disabled,
    NotReady,
    NotAsked,
    // Of a join's inputs.
    Lateral,
    TablelessCondition,
    WorkingTable,
    RecordColumn,
    TooManyColumns,
    Memory,
    // Of its conditions, of which none could drive the join: the more telling ones first.
    Volatile,
    SubPlan,
    NondeterministicCollation,
    RangeCollation,
    TimeZone,
    EqualityType,
    RangeType,
    MayFail,
    Operator,
    NotEvaluated,
    OnlyUnequal,
    NoCondition,
    // Of its costs.
    Dearer,
    Lookups,
    RangeLookups,
    StartsLater,
    WholePlan,
    // Of aggregates.
    AggregatesOff,
    GroupingSets,
    SetReturning,
    Partitionwise,
    OrderedAggregate,
    NoPartialStates,
    UnknownAggregate,
    FloatAggregatesOff,
    Argument,
    KeyType,
    KeyExpression,
    FewRows,
    RowsComeBack,
    NotClearlyCheaper,
};

// What refused it, and what of it.
struct Refusal {
    Reason reason = Reason::None;
    const Node* condition = nullptr;  // or another expression of the statement
    const char* subject = nullptr;    // the name of a type, function, collation or operator; an amount
};

// In words; condition: deparsed. advice: what would change it; nullptr where nothing would.
const char* reason_text(const Refusal& refusal, const char* condition);
const char* advice_text(const Refusal& refusal, const char* condition);

// "core's Hash Join is expected to be 1.3 times cheaper: 812 against 1055".
const char* cost_text(const char* node, double core, double ours);

}  // namespace gpujoin
