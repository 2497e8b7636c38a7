// See kept_facts.h.
#include "pg/planner/kept_facts.h"

#include <utility>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/kept_condition.h"
#include "pg/kept_expression.h"
#include "pg/kept_tables.h"
#include "pg/planner/relation_notes.h"
#include "pg/proven_share.h"
#include "pg/server_state.h"

extern "C" {
#include "access/sysattr.h"
#include "access/table.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/memutils.h"
#include "utils/rel.h"
}

namespace gpujoin {

namespace {

const TableSet* lacking = nullptr;

// Conditions on no table, which core tests above the scan, with a node of its own: what is kept is read by
// scans that we know of.
bool has_gating_conditions(const RelOptInfo* rel) {
    ListCell* cell;
    foreach (cell, rel->baserestrictinfo)
        if (lfirst_node(RestrictInfo, cell)->pseudoconstant) return true;
    return false;
}

// Calls visit with what is computed to test the relation's conditions on kept columns. False where they are
// not tested so.
template <typename Visit>
bool visit_computed(const RelOptInfo* rel, const Visit& visit) {
    if (has_gating_conditions(rel)) return false;
    const KeptFormula* formula = make_kept_formula(extract_actual_clauses(rel->baserestrictinfo, false));
    for (int i = 0; formula && i < formula->count; i++)
        if (Node* expression = formula->leaves[i].expression) visit(expression);
    return formula != nullptr;
}

// What a scan gives may have been wanted for a join that was removed since.
bool is_needed_above(const RelOptInfo* rel, const Node* expression) {
    if (!IsA(expression, Var) || rel->reloptkind != RELOPT_BASEREL) return true;
    Relids needed = rel->attr_needed[reinterpret_cast<const Var*>(expression)->varattno - rel->min_attr];
    return !bms_is_subset(needed, rel->relids);
}

// Those of the table that a scan gives or tests. False where there are others than columns among them.
bool read_attributes(const RelOptInfo* rel, Bitmapset** attributes) {
    Bitmapset* shifted = nullptr;
    ListCell* cell;
    foreach (cell, rel->reltarget->exprs)
        if (is_needed_above(rel, static_cast<Node*>(lfirst(cell))))
            pull_varattnos(static_cast<Node*>(lfirst(cell)), rel->relid, &shifted);
    foreach (cell, rel->baserestrictinfo)
        pull_varattnos(reinterpret_cast<Node*>(lfirst_node(RestrictInfo, cell)->clause), rel->relid,
                       &shifted);
    for (int member = -1; (member = bms_next_member(shifted, member)) >= 0;) {
        const int attribute = member + FirstLowInvalidHeapAttributeNumber;
        if (attribute <= 0) return false;
        *attributes = bms_add_member(*attributes, attribute);
    }
    return true;
}

bool is_of_kept_kind(Relation relation) {
    return relation->rd_rel->relkind == RELKIND_RELATION &&
           relation->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT && RelationNeedsWAL(relation);
}

// A subquery that may run for each row of another one. PostgreSQL chooses between that and a hash table of
// its rows by what one run costs: it is not to be led to scan millions of rows again and again because each
// scan is cheap.
bool is_correlated(const PlannerInfo* root) {
    for (root = root->parent_root; root; root = root->parent_root)
        if (root->plan_params != NIL) return true;
    return false;
}

Cost cost_of_condition(PlannerInfo* root, Node* clause) {
    QualCost cost;
    cost_qual_eval_node(&cost, clause, root);
    return cost.per_tuple;
}

bool is_plain_table(PlannerInfo* root, const RelOptInfo* rel) {
    if (!kKeepsColumns || !IS_SIMPLE_REL(rel) || rel->rtekind != RTE_RELATION || is_correlated(root))
        return false;
    const RangeTblEntry* entry = planner_rt_fetch(rel->relid, root);
    return !entry->inh && !entry->tablesample && server_keep_memory() > 0;
}

// As the last scan had it, but for what has been changed since then: plans that count on what is kept leave
// reading to one process. Where most has been, it is as if nothing were kept, so that it will be kept again.
void find_kept_share(Relation relation, const RelOptInfo* rel, KeptFacts* facts) {
    const ExpectedShare expected = expected_kept_share(facts->table, facts->attributes);
    if (expected.share == 0) return;
    const double proven = estimate_proven_share(relation, rel->pages, expected.since);
    facts->is_lost = 2 * proven < expected.share;
    facts->share = facts->is_lost ? 0 : Min(expected.share, proven);
}

void find_kept_facts(PlannerInfo* root, const RelOptInfo* rel, KeptFacts* facts) {
    Relation relation = table_open(planner_rt_fetch(rel->relid, root)->relid, NoLock);
    RelationFiles files = relation_files(relation);
    facts->may_be_kept = is_of_kept_kind(relation);
    facts->is_large = rel->pages >= kFewestKeptBlocks;
    facts->table = {files.database, files.tablespace, files.number, 0};
    facts->is_tested_by_kept =
        read_attributes(rel, &facts->attributes) && visit_computed(rel, [&](Node* expression) {
            if (!is_expression_noted(hash_of_expression(facts->table, expression)))
                facts->computing += cost_of_condition(root, expression);
        });
    const bool is_lacking = lacking && lacking->has(facts->table);
    if (facts->is_large && facts->is_tested_by_kept && facts->computing == 0 && !is_lacking)
        find_kept_share(relation, rel, facts);
    table_close(relation, NoLock);
}

}  // namespace

const KeptFacts* kept_facts(PlannerInfo* root, RelOptInfo* rel) {
    RelationNotes* notes = make_notes(rel);
    if (notes->kept) return notes->kept;
    MemoryContext before = MemoryContextSwitchTo(GetMemoryChunkContext(rel));
    auto* facts = zeroed<KeptFacts>();
    if (is_plain_table(root, rel)) find_kept_facts(root, rel, facts);
    MemoryContextSwitchTo(before);
    return make_notes(rel)->kept = facts;
}

const TableSet* set_lacking(const TableSet* tables) {
    return std::exchange(lacking, tables);
}

void want_kept(PlannerInfo* root, RelOptInfo* rel) {
    const KeptFacts* facts = kept_facts(root, rel);
    want_table_kept(facts->table);
    visit_computed(rel, [&](Node* expression) {
        const uint64 hash = hash_of_expression(facts->table, expression);
        if (!is_expression_noted(hash)) note_expression_to_keep(hash);
    });
}

}  // namespace gpujoin
