// GroupCollector: what the groups of a chain's rows consist of: keys, what any row of a group gives, and
// aggregates with the programs that compute their arguments and filters.
#pragma once

#include "pg/planner/filters.h"
#include "pg/planner/groups_input.h"
#include "pg/planner/reasons.h"

extern "C" {
#include "postgres.h"
#include "nodes/parsenodes.h"
}

namespace gpujoin {

struct KnownAggregate;

// Whether it is an aggregate that engines compute, if they can compute its arguments.
Reason reason_against(const Node* expression);

// Collects what a chain's groups consist of. Each function is false where that cannot be done here.
class GroupCollector {
  public:
    GroupCollector(PlannerInfo* root, const Chain* chain, GroupsInput* groups);

    bool add_key(const SortGroupClause* clause, Node* expression);
    bool add_any(Node* expression);
    bool add_aggregate(Aggref* aggref);
    // count_of_values() of what is a key.
    bool add_presence(Aggref* count);
    bool finish();

  private:
    bool is_of_one_child(Node* expression);
    bool is_given(const Node* expression) const;
    bool may_be_given(const Node* expression) const;
    // Or is a constant: what else has no columns could not be told from the value that groups have.
    bool has_columns(Node* expression);
    bool note_arguments(Expr* condition, Expr* argument);
    void name_state(const Aggref* aggref);
    bool add_state(StateForm form, int column, int count_column = 0);
    bool add_part(AggregateFunction function, int value, int filter, int* column);
    bool add_number(Node* argument, Oid type, int* program, DecimalScale* scale);
    bool add_scale(const KnownAggregate* known, const DecimalScale& scale, int value, Expr* condition);
    bool add_filter(Expr* condition, int* program);
    bool add_program(JoinFilter* filter, int* number);
    bool add_known(const Aggref* aggref, Node* argument, Expr* condition);
    bool add_squares(Node* argument, Oid type, int filter);
    bool add_count(const Aggref* aggref, Node* argument, Expr* condition);

    PlannerInfo* root_;
    const Chain* chain_;
    GroupsPlan* plan_;
    List** exprs_;
    JoinSides sides_;
    FilterValues values_ = {};
    List* programs_ = NIL;  // of FilterProgram
};

}  // namespace gpujoin
