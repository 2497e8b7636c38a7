// See parallel_rescan.h. PostgreSQL's own callbacks reset the nodes. Those of the kinds that are listed here
// do not look at the ParallelContext, which only the leader has.
#include "pg/executor/parallel_rescan.h"

#include "pg/compat.h"
#include "pg/entry_points.h"

extern "C" {
#include "executor/nodeAppend.h"
#include "executor/nodeBitmapHeapscan.h"
#include "executor/nodeIndexonlyscan.h"
#include "executor/nodeIndexscan.h"
#include "executor/nodeSeqscan.h"
}

namespace gpujoin {

namespace {

bool is_gpu_join(const PlanState* plan) {
    const auto* scan = reinterpret_cast<const CustomScan*>(plan->plan);
    return scan->methods == &scan_methods || scan->methods == &group_methods;
}

bool can_be_reset(const PlanState* plan) {
    switch (nodeTag(plan)) {
        case T_SeqScanState:
        case T_IndexScanState:
        case T_IndexOnlyScanState:
        case T_BitmapHeapScanState:
        case T_AppendState:
            return true;
        case T_CustomScanState:
            if (is_gpu_join(plan)) return true;
            [[fallthrough]];
        default:
            return !plan->plan->parallel_aware;
    }
}

bool has_other_nodes(PlanState* plan, void* context) {
    return !can_be_reset(plan) || walk_plan_states(plan, has_other_nodes, context);
}

// What is below a Gather is shared with nobody above it.
bool is_shared(PlanState* plan, void* context) {
    if (IsA(plan, GatherState) || IsA(plan, GatherMergeState)) return false;
    return plan->plan->parallel_aware || walk_plan_states(plan, is_shared, context);
}

// Nodes below one that only has parts of its own are reset too: they may be parallel.
bool reset_node(PlanState* plan, void* reset_join) {
    bool is_parallel = plan->plan->parallel_aware;
    switch (nodeTag(plan)) {
        case T_SeqScanState:
            if (is_parallel) ExecSeqScanReInitializeDSM(castNode(SeqScanState, plan), nullptr);
            break;
        case T_IndexScanState:
            if (is_parallel) ExecIndexScanReInitializeDSM(castNode(IndexScanState, plan), nullptr);
            break;
        case T_IndexOnlyScanState:
            if (is_parallel) ExecIndexOnlyScanReInitializeDSM(castNode(IndexOnlyScanState, plan), nullptr);
            break;
        case T_BitmapHeapScanState:
            if (is_parallel) ExecBitmapHeapReInitializeDSM(castNode(BitmapHeapScanState, plan), nullptr);
            break;
        case T_AppendState:
            if (is_parallel) ExecAppendReInitializeDSM(castNode(AppendState, plan), nullptr);
            break;
        case T_CustomScanState:
            if (is_parallel) (*static_cast<ResetJoin*>(reset_join))(castNode(CustomScanState, plan));
            break;
        default:
            break;
    }
    return walk_plan_states(plan, reset_node, reset_join);
}

}  // namespace

bool shares_scans(PlanState* plan) {
    return is_shared(plan, nullptr);
}

bool can_reset_shared_scans(PlanState* plan) {
    return !has_other_nodes(plan, nullptr);
}

void reset_shared_scans(PlanState* plan, ResetJoin reset_join) {
    reset_node(plan, &reset_join);
}

}  // namespace gpujoin
