// See shared_partitions.h. A participant's files are named after what is in them and after itself, and those
// that it has written no row to do not exist.
#include "pg/executor/shared_partitions.h"

#include "pg/allocate.h"
#include "pg/join_statistics.h"

extern "C" {
#include "access/parallel.h"
#include "miscadmin.h"
}

namespace gpujoin {

namespace {

MemoryContext context_of(const GpuJoinState* state) {
    return state->css.ss.ps.state->es_query_cxt;
}

int file_count(const SharedPartitions* shared) {
    return shared->by_keys ? kDivisionFiles : 1;
}

FileName build_name(int stage, int number) {
    FileName name;
    snprintf(name.text, sizeof name.text, "build%d.%d", stage, number);
    return name;
}

FileName probe_name(int number) {
    FileName name;
    snprintf(name.text, sizeof name.text, "probe.%d", number);
    return name;
}

RowFile* create_part(const GpuJoinState* state, SharedPartitions* shared, FileName name) {
    return row_file_create_part(context_of(state), &shared->files, name, ParallelWorkerNumber + 1);
}

RowFile* open_parts(const GpuJoinState* state, SharedPartitions* shared, FileName name) {
    return row_file_open_parts(context_of(state), &shared->files, name, shared->participants);
}

void publish(RowFile** files, int count) {
    for (int i = 0; i < count; i++) row_file_leave(files[i]);
}

void share_spread(SharedPartitions* shared, const HashSpread* spread) {
    SpinLockAcquire(&shared->mutex);
    add_spread(&shared->spread, spread);
    SpinLockRelease(&shared->mutex);
}

void divide_divided_stage(GpuJoinState* state, SharedPartitions* shared) {
    RowFile* files[kDivisionFiles];
    int count = file_count(shared);
    JoinStage* stage = &state->stages[shared->stage];
    for (int i = 0; i < count; i++) files[i] = create_part(state, shared, build_name(shared->stage, i));
    if (shared->by_keys) {
        HashSpread spread = divide_by_keys(state, &stage->build, stage, 0, files, count);
        share_spread(shared, &spread);
    } else {
        divide_in_turn(state, &stage->build, files, count);
    }
    publish(files, count);
}

void write_other_stage(GpuJoinState* state, SharedPartitions* shared, int stage) {
    RowFile* file = create_part(state, shared, build_name(stage, 0));
    divide_in_turn(state, &state->stages[stage].build, &file, 1);
    publish(&file, 1);
}

void divide_probe_input(GpuJoinState* state, SharedPartitions* shared) {
    RowFile* files[kDivisionFiles];
    int count = file_count(shared);
    for (int i = 0; i < count; i++) files[i] = create_part(state, shared, probe_name(i));
    if (shared->by_keys)
        divide_by_keys(state, &state->probe.side, &state->stages[shared->stage], 0, files, count);
    else
        divide_in_turn(state, &state->probe.side, files, count);
    publish(files, count);
}

// The shared memory that files would go with, in whatever way the query ends.
struct FilesEnd {
    MemoryContextCallback callback;
    SharedFileSet files;
};

void delete_with_query(const GpuJoinState* state, const SharedFileSet* files) {
    auto* end = zeroed_in<FilesEnd>(context_of(state));
    end->files = *files;
    // Nothing would delete what is left where it was cancelled.
    end->callback.func = [](void* ended) {
        HOLD_INTERRUPTS();
        SharedFileSetDeleteAll(&static_cast<FilesEnd*>(ended)->files);
        RESUME_INTERRUPTS();
    };
    end->callback.arg = end;
    MemoryContextRegisterResetCallback(context_of(state), &end->callback);
}

}  // namespace

void init_shared_partitions(const GpuJoinState* state, SharedPartitions* shared, dsm_segment* segment,
                            int participants) {
    shared->segment = segment ? dsm_segment_handle(segment) : DSM_HANDLE_INVALID;
    shared->participants = participants;
    SharedFileSetInit(&shared->files, segment);
    if (!segment) delete_with_query(state, &shared->files);
    SpinLockInit(&shared->mutex);
    pg_atomic_init_u32(&shared->taken, 0);
}

void reset_shared_partitions(SharedPartitions* shared) {
    if (!shared->are_used) return;
    SharedFileSetDeleteAll(&shared->files);
    shared->are_used = false;
    shared->spread = {};
    pg_atomic_write_u32(&shared->taken, 0);
}

// The leader has been attached since they were made.
void attach_shared_files(SharedPartitions* shared) {
    if (IsParallelWorker()) SharedFileSetAttach(&shared->files, dsm_find_mapping(shared->segment));
}

void divide_share(GpuJoinState* state, SharedPartitions* shared,
                  bool (*reads_build_side)(GpuJoinState*, int stage)) {
    attach_shared_files(shared);
    for (int i = 0; i < state->plan.stage_count; i++) {
        if (!reads_build_side(state, i)) continue;
        if (i == shared->stage)
            divide_divided_stage(state, shared);
        else
            write_other_stage(state, shared, i);
    }
    divide_probe_input(state, shared);
    // Others may join all that this process has written.
    prepare_counting();
    count_noted();
}

Partition* open_shared_whole(GpuJoinState* state, SharedPartitions* shared) {
    Partition* whole = partition_create(state);
    for (int i = 0; i < state->plan.stage_count; i++)
        if (i != shared->stage)
            input_part_set(&whole->builds[i].input, open_parts(state, shared, build_name(i, 0)));
    return whole;
}

Partition* take_shared_partition(GpuJoinState* state, SharedPartitions* shared, const Partition* whole) {
    auto number = static_cast<int>(pg_atomic_fetch_add_u32(&shared->taken, 1));
    if (number >= file_count(shared)) return nullptr;
    Partition* part = partition_copy(state, whole);
    if (shared->stage != kNoStage) {
        BuildPart* divided = &part->builds[shared->stage];
        input_part_set(&divided->input, open_parts(state, shared, build_name(shared->stage, number)));
        divided->divisions = 1;
        divided->keys_are_equal = shared->by_keys && are_equal(shared->spread);
    }
    input_part_set(&part->probe, open_parts(state, shared, probe_name(number)));
    part->attempted_bytes = shared->attempted_bytes;
    part->passes++;
    state->partitions.figures.count++;
    return part;
}

}  // namespace gpujoin
