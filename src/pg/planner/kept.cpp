// See kept.h. The executor decides by the columns, and by what the visibility map proves
// (executor/kept_source.h).
#include "pg/planner/kept.h"

#include "pg/compat.h"
#include "pg/kept_expression.h"
#include "pg/kept_tables.h"
#include "pg/planner/relation_notes.h"
#include "pg/range_condition.h"
#include "pg/server_state.h"

extern "C" {
#include "access/sysattr.h"
#include "access/table.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/rel.h"
}

namespace gpujoin {

namespace {

bool is_tested_on_kept_columns(const ChunkKey& table, Node* clause) {
    RangeCondition found;
    if (find_range_condition(clause, true, &found) && has_integers(&found)) return true;
    return may_keep_expression(clause) &&
           is_expression_noted(hash_of_expression(table, canonical_expression(clause)));
}

// Those of the table that a scan gives or tests.
Bitmapset* read_attributes(const RelOptInfo* rel) {
    Bitmapset* shifted = nullptr;
    pull_varattnos(reinterpret_cast<Node*>(rel->reltarget->exprs), rel->relid, &shifted);
    ListCell* cell;
    foreach (cell, rel->baserestrictinfo)
        pull_varattnos(reinterpret_cast<Node*>(lfirst_node(RestrictInfo, cell)->clause), rel->relid,
                       &shifted);
    Bitmapset* attributes = nullptr;
    for (int member = -1; (member = bms_next_member(shifted, member)) >= 0;)
        if (member + FirstLowInvalidHeapAttributeNumber > 0)
            attributes = bms_add_member(attributes, member + FirstLowInvalidHeapAttributeNumber);
    return attributes;
}

bool is_of_kept_kind(Relation relation) {
    return relation->rd_rel->relkind == RELKIND_RELATION &&
           relation->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT && RelationNeedsWAL(relation);
}

double find_kept_share(PlannerInfo* root, const RelOptInfo* rel, bool* may_be_kept) {
    *may_be_kept = false;
    if (server_keep_memory() == 0) return 0;
    Relation relation = table_open(planner_rt_fetch(rel->relid, root)->relid, NoLock);
    RelationFiles files = relation_files(relation);
    *may_be_kept = is_of_kept_kind(relation);
    table_close(relation, NoLock);
    ChunkKey table = {files.database, files.tablespace, files.number, 0};
    double share = expected_kept_share(table, read_attributes(rel));
    if (share == 0) return 0;
    ListCell* cell;
    foreach (cell, rel->baserestrictinfo) {
        auto* clause = reinterpret_cast<Node*>(lfirst_node(RestrictInfo, cell)->clause);
        if (!is_tested_on_kept_columns(table, clause)) return 0;
    }
    return share;
}

}  // namespace

// These are asked for each pair of relations that a chain may begin with.
double kept_share_of(PlannerInfo* root, const Path* path) {
    return path->pathtype == T_SeqScan ? kept_share_of_rel(root, path->parent) : 0;
}

double kept_share_of_rel(PlannerInfo* root, RelOptInfo* rel) {
    if (!kKeepsColumns || !IS_SIMPLE_REL(rel) || rel->rtekind != RTE_RELATION) return 0;
    const RangeTblEntry* entry = planner_rt_fetch(rel->relid, root);
    if (entry->inh || entry->tablesample) return 0;
    RelationNotes* notes = make_notes(rel);
    if (!notes->knows_kept) {
        bool may_be_kept;
        double share = find_kept_share(root, rel, &may_be_kept);
        notes = make_notes(rel);
        notes->knows_kept = true;
        notes->may_be_kept = may_be_kept;
        notes->kept_share = share;
    }
    return notes->kept_share;
}

bool may_be_kept(PlannerInfo* root, RelOptInfo* rel) {
    kept_share_of_rel(root, rel);
    const RelationNotes* notes = find_notes(rel);
    return notes && notes->may_be_kept;
}

}  // namespace gpujoin
