// A heap of keys, the last of them on top: PostgreSQL's, with the comparison that Sort uses.
#include "pg/executor/top_rows.h"

#include "pg/allocate.h"
#include "pg/compat.h"

extern "C" {
#include "access/detoast.h"
#include "executor/instrument.h"
#include "lib/binaryheap.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"
}

namespace gpujoin {

namespace {

// Rows with longer keys are let through, and do not count: keys are few, and so is their memory.
constexpr Size kMostKeyBytes = 1024;

// Where rows come the other way round, each is among the first ones of those before. Of some times as many
// rows as are wanted, and not too few, most must be left out; or else some times as many rows are let through
// before it is tried again, and each time twice as many.
constexpr uint64 kTrialRows = 8192;
constexpr uint64 kTrialRounds = 16;
constexpr uint64 kFirstPause = 4;

int compare_keys(Datum left, Datum right, void* order) {
    return ApplySortComparator(left, false, right, false, static_cast<SortSupport>(order));
}

}  // namespace

struct TopRows {
    TopRowsPlan plan;
    PlanState* node;
    SortSupportData order;
    int16 type_length;
    bool is_by_value;
    MemoryContext memory;   // the heap's, and that of keys which are not by value
    MemoryContext scratch;  // of a comparison
    binaryheap* best;       // as many keys as rows are wanted, or fewer; nullptr: no row has come
    uint64 seen;            // of this trial
    uint64 removed;         // of these
    uint64 unseen;          // rows that are let through before the next trial
    uint64 pause;           // how many trials' rows they were the last time
};

namespace {

bool is_full(const TopRows* top) {
    return top->best->bh_size == top->plan.count;
}

bool is_too_long(const TopRows* top, Datum key) {
    return top->type_length == -1 && toast_raw_datum_size(key) > kMostKeyBytes;
}

Datum copy_key(const TopRows* top, Datum key) {
    if (top->is_by_value) return key;
    MemoryContext caller = MemoryContextSwitchTo(top->memory);
    const Datum copy = top->type_length == -1 ? PointerGetDatum(PG_DETOAST_DATUM_COPY(key))
                                              : datumCopy(key, false, top->type_length);
    MemoryContextSwitchTo(caller);
    return copy;
}

void add_key(TopRows* top, Datum key) {
    if (!is_full(top)) return binaryheap_add(top->best, copy_key(top, key));
    const Datum last = binaryheap_first(top->best);
    binaryheap_replace_first(top->best, copy_key(top, key));
    if (!top->is_by_value) pfree(DatumGetPointer(last));
}

bool takes_too_much(const TopRows* top) {
    return MemoryContextMemAllocated(top->memory, false) > static_cast<Size>(work_mem) * 1024;
}

// Once there are as many better rows as are wanted, core's Sort keeps none that is only as good as their
// last.
bool may_be_among(TopRows* top, Datum key, bool is_null) {
    if (is_null) return top->plan.has_nulls_first || !is_full(top);
    if (is_too_long(top, key)) return true;
    if (is_full(top)) {
        const int compared = compare_keys(key, binaryheap_first(top->best), &top->order);
        if (compared > 0 || (compared == 0 && top->plan.is_all)) return false;
        if (compared == 0) return true;
    }
    if (!takes_too_much(top)) add_key(top, key);
    return true;
}

// Keys are remembered for all that the rows have been given that they are of.
void pause_if_vain(TopRows* top) {
    const uint64 trial = kTrialRows + kTrialRounds * static_cast<uint64>(top->plan.count);
    if (top->seen < trial) return;
    if (top->removed <= top->seen / 2) {
        top->pause = Max(kFirstPause, 2 * top->pause);
        top->unseen = top->pause * trial;
    }
    top->seen = top->removed = 0;
}

void begin(TopRows* top) {
    MemoryContext caller = MemoryContextSwitchTo(top->memory);
    top->best = binaryheap_allocate(top->plan.count, compare_keys, &top->order);
    MemoryContextSwitchTo(caller);
}

}  // namespace

TopRows* make_top_rows(const TopRowsPlan& plan, PlanState* node) {
    if (plan.count == 0) return nullptr;
    auto* top = zeroed<TopRows>();
    top->plan = plan;
    top->node = node;
    const FormData_pg_attribute* column = TupleDescAttr(node->ps_ResultTupleDesc, plan.column - 1);
    top->type_length = column->attlen;
    top->is_by_value = column->attbyval;
    top->order.ssup_cxt = CurrentMemoryContext;
    top->order.ssup_collation = plan.collation;
    top->order.ssup_nulls_first = plan.has_nulls_first;
    top->order.ssup_attno = plan.column;
    PrepareSortSupportFromOrderingOp(plan.ordering, &top->order);
    top->memory = AllocSetContextCreate(CurrentMemoryContext, "GPU Join top rows", ALLOCSET_SMALL_SIZES);
    top->scratch =
        AllocSetContextCreate(CurrentMemoryContext, "GPU Join top rows, comparison", ALLOCSET_SMALL_SIZES);
    return top;
}

bool may_be_among_top(TopRows* top, TupleTableSlot* slot) {
    if (top->unseen > 0) {
        top->unseen--;
        return true;
    }
    if (!top->best) begin(top);
    bool is_null;
    const Datum key = slot_getattr(slot, top->plan.column, &is_null);
    MemoryContext caller = MemoryContextSwitchTo(top->scratch);
    const bool may_be = may_be_among(top, key, is_null);
    MemoryContextSwitchTo(caller);
    MemoryContextReset(top->scratch);
    top->seen++;
    if (!may_be) {
        top->removed++;
        InstrCountTuples2(top->node, 1);
    }
    pause_if_vain(top);
    return may_be;
}

void reset_top_rows(TopRows* top) {
    if (!top) return;
    MemoryContextReset(top->memory);
    top->best = nullptr;
    top->seen = top->removed = top->unseen = top->pause = 0;
}

void show_top_rows(const TopRowsPlan& plan, const PlanState* node, uint64 left_out, ExplainState* es) {
    if (plan.count == 0) return;
    ExplainPropertyInteger("Top Rows", nullptr, plan.count, es);
    const Instrumentation* figures = node->instrument;
    if (!es->analyze || !figures) return;
    const double removed = figures->ntuples2 + static_cast<double>(left_out);
    if (removed == 0 && es->format == EXPLAIN_FORMAT_TEXT) return;
    ExplainPropertyFloat("Rows Removed by Limit", nullptr, removed / Max(figures->nloops, 1), 0, es);
}

}  // namespace gpujoin
