// See source.h.
#include "pg/executor/source.h"

#include "pg/allocate.h"
#include "pg/compat.h"

extern "C" {
#include "access/sysattr.h"
#include "executor/execPartition.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
}

namespace gpujoin {

namespace {

bool reads_sets(const Side* side) {
    return side->reads_file || side->parts[side->part].heap;
}

// Rows were read off a part that its Append would have passed on.
void count_for_append(const Side* side, uint32 rows) {
    Instrumentation* instrument = side->plan->instrument;
    if (!instrument || side->reads_file || side->parts[side->part].plan == side->plan) return;
    InstrStartNode(instrument);
    InstrStopNode(instrument, rows);
}

void take_rows(Side* side, uint32 rows) {
    if (side->reads_file) return file_rows_take(side->file_rows, rows);
    heap_scan_take(part_of(side)->heap, rows);
    count_for_append(side, rows);
}

// What belongs to the side rather than to an attempt to run the join.
MemoryContext context_of(const Side* side) {
    return side->plan->state->es_query_cxt;
}

FileRows* file_rows_of(Side* side) {
    if (!side->file_rows)
        side->file_rows = file_rows_create(context_of(side), ExecGetResultType(side->plan), side->wanted);
    return side->file_rows;
}

// What is wanted of the row in the slot, of which there may be another one each time.
const RowSet* set_of_slot(Side* side, TupleTableSlot* slot) {
    SlotRow* row = &side->slot_row;
    if (!row->values) {
        const int attributes = ExecGetResultType(side->plan)->natts;
        row->values = zeroed_in<const Datum*>(context_of(side), attributes + 1);
        row->nulls = zeroed_in<const bool*>(context_of(side), attributes + 1);
        auto* has_nulls = unset_in<bool>(context_of(side), attributes + 1);
        memset(has_nulls, true, attributes);
        row->set = {1, row->values, row->nulls, has_nulls, nullptr, attributes};
    }
    slot_getsomeattrs(slot, bms_prev_member(side->wanted, -1));
    row->set.slot = slot;
    for (int attribute = -1; (attribute = bms_next_member(side->wanted, attribute)) >= 0;) {
        row->values[attribute - 1] = &slot->tts_values[attribute - 1];
        row->nulls[attribute - 1] = &slot->tts_isnull[attribute - 1];
    }
    return &row->set;
}

// The next row with its attributes fetched, nullptr at the end. It is valid until the next call.
TupleTableSlot* next_row(Side* side) {
    TupleTableSlot* slot = side->unread;
    if (slot) {
        side->unread = nullptr;
        return slot;
    }
    if (side->exhausted) return nullptr;
    slot = ExecProcNode(part_of(side)->plan);
    if (TupIsNull(slot)) {
        side->exhausted = true;
        count_for_append(side, 0);
        return nullptr;
    }
    count_for_append(side, 1);
    slot_getsomeattrs(slot, side->last_attribute);
    if (unlikely(side->copy)) side_write_row(side, set_of_slot(side, slot), 0, side->copy);
    return slot;
}

// Rows that were not taken yet, nullptr at the end.
const RowSet* next_rows(Side* side) {
    if (side->exhausted) return nullptr;
    const RowSet* set =
        side->reads_file ? file_rows_next(side->file_rows) : heap_scan_rows(part_of(side)->heap);
    side->exhausted = !set;
    if (!set) count_for_append(side, 0);
    return set;
}

// Both fill a batch that was begun; false when results must be received before its first row finds room.
bool fill_from_slots(Side* side, Client* client, const BatchGoal* goal) {
    BatchWriter* writer = &side->writer;
    while (writer->rows < writer->capacity) {
        CHECK_FOR_INTERRUPTS();
        TupleTableSlot* slot = next_row(side);
        if (!slot) break;
        if (unlikely(!batch_add(writer, slot))) {
            side->unread = slot;
            if (writer->rows > 0) break;
            if (!batch_make_room(writer, client)) return false;
            if (!batch_add(writer, slot)) elog(ERROR, "a row does not fit into a block of its own");
            side->unread = nullptr;
        }
        if (goal->keep && !probe_batch_keep(goal->keep, slot)) break;
        if (goal->patience && is_overdue(goal->patience, writer->rows)) break;
    }
    return true;
}

bool fill_from_sets(Side* side, Client* client, const BatchGoal* goal) {
    BatchWriter* writer = &side->writer;
    while (writer->rows < writer->capacity) {
        const RowSet* set = next_rows(side);
        if (!set) break;
        uint32_t count = Min(set->rows, writer->capacity - writer->rows);
        uint32_t taken = batch_add_rows(writer, set, count);
        if (unlikely(writer->rows == 0)) {
            if (!batch_make_room(writer, client)) return false;
            taken = batch_add_rows(writer, set, 1);
            if (taken == 0) elog(ERROR, "a row does not fit into a block of its own");
        }
        bool full = taken < count;
        if (goal->keep) full |= !probe_batch_keep_rows(goal->keep, set, taken);
        take_rows(side, taken);
        if (full) break;
    }
    return true;
}

const RowSet* next_set_of_part(Side* side) {
    if (!reads_sets(side)) {
        TupleTableSlot* slot = next_row(side);
        return slot ? set_of_slot(side, slot) : nullptr;
    }
    const RowSet* set = next_rows(side);
    if (set) take_rows(side, set->rows);
    return set;
}

// Whether it does nothing but pass on what all of its children give, which this process reads alone.
bool can_read_parts(const PlanState* plan) {
    if (!IsA(plan, AppendState) || plan->plan->parallel_aware) return false;
    const auto* append = reinterpret_cast<const AppendState*>(plan);
    if (append->as_nasyncplans > 0 || append->as_nplans == 0) return false;
    return !append->as_prune_state || !append->as_prune_state->do_exec_prune;
}

void reset_scans(Side* side) {
    for (int i = 0; i < side->part_count; i++)
        if (side->parts[i].heap) heap_scan_reset(side->parts[i].heap);
}

}  // namespace

void side_init(Side* side, PlanState* plan) {
    side->plan = plan;
    side->parts = zeroed<SidePart>(1);
    side->parts->plan = plan;
    side->part_count = 1;
}

void side_want(Side* side, AttrNumber attribute) {
    side->wanted = bms_add_member(side->wanted, attribute);
    side->last_attribute = Max(side->last_attribute, attribute);
}

void side_want_columns(Side* side, Node* expression, Index varno) {
    Bitmapset* shifted = nullptr;
    pull_varattnos(expression, varno, &shifted);
    for (int member = -1; (member = bms_next_member(shifted, member)) >= 0;)
        side->wanted = bms_add_member(side->wanted, member + FirstLowInvalidHeapAttributeNumber);
}

void side_choose_source(Side* side) {
    if (can_read_parts(side->plan)) {
        const auto* append = reinterpret_cast<const AppendState*>(side->plan);
        side->part_count = append->as_nplans;
        side->parts = zeroed<SidePart>(side->part_count);
        for (int i = 0; i < side->part_count; i++) side->parts[i].plan = append->appendplans[i];
    }
    for (int i = 0; i < side->part_count; i++)
        side->parts[i].heap = heap_scan_create(side->parts[i].plan, side->wanted);
}

bool side_may_keep_next(const Side* side) {
    return side->part + 1 < side->part_count && side->parts[side->part + 1].kept;
}

bool side_next_part(Side* side) {
    if (side->reads_file || side->part + 1 >= side->part_count) return false;
    side->part++;
    side->exhausted = false;
    return true;
}

bool side_is_empty(Side* side) {
    if (reads_sets(side)) return !next_rows(side);
    side->unread = next_row(side);
    return !side->unread;
}

Fill side_fill_batch(Side* side, Client* client, const BatchGoal* goal) {
    if (side_is_empty(side)) return Fill::Empty;
    BatchWriter* writer = &side->writer;
    if (!batch_begin(writer, client, goal->rows)) return Fill::NoBlock;
    if (goal->keep) probe_batch_begin(goal->keep, writer->capacity);
    for (;;) {
        bool filled =
            reads_sets(side) ? fill_from_sets(side, client, goal) : fill_from_slots(side, client, goal);
        if (!filled) return Fill::NoBlock;
        // A part with little to read does not end the batch.
        const bool has_room = side->exhausted && writer->rows < writer->capacity;
        if (!has_room || side_may_keep_next(side) || !side_next_part(side)) return Fill::Filled;
    }
}

const RowSet* side_next_set(Side* side) {
    for (;;) {
        if (const RowSet* set = next_set_of_part(side)) return set;
        if (!side_next_part(side)) return nullptr;
    }
}

void side_read_file(Side* side, RowFile* file, const RowFlags* flags, RowsRead read) {
    side->reads_file = file;
    if (!file && !side->file_rows) return;
    file_rows_begin(file_rows_of(side), file, flags, read);
    if (!file) return;
    side->unread = nullptr;
    side->exhausted = false;
}

void side_write_row(Side* side, const RowSet* set, uint32_t row, RowFile* file) {
    row_file_add(file, file_rows_of(side)->format, set, row);
}

void side_rescan(Side* side) {
    side->unread = nullptr;
    side->exhausted = false;
    side->reads_file = false;
    if (side->copy) row_file_clear(side->copy);
    side_reset_kept(side);
    side->part = 0;
    reset_scans(side);
    // An Append whose children are read in its place is never asked for a row.
    if (!side->plan->chgParam || side->parts->plan != side->plan) ExecReScan(side->plan);
}

void side_reset_kept(Side* side) {
    for (int i = 0; i < side->part_count; i++)
        if (side->parts[i].kept) kept_source_reset(side->parts[i].kept);
}

void side_end(Side* side) {
    reset_scans(side);
}

void side_reread(Side* side) {
    if (!side->copy) return side_rescan(side);
    while (!side->reads_file && side_next_set(side)) CHECK_FOR_INTERRUPTS();
    side_read_file(side, side->copy);
}

}  // namespace gpujoin
