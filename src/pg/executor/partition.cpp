// See partition.h.
#include "pg/executor/partition.h"

#include "pg/allocate.h"

namespace gpujoin {

namespace {

void share(const InputPart* input) {
    if (input->rows) input->rows->users++;
    if (input->flags) input->flags->users++;
}

void leave(InputPart* input) {
    if (input->rows) row_file_leave(input->rows);
    if (input->flags) row_flags_leave(input->flags);
    *input = {};
}

Partition* allocate_partition(const GpuJoinState* state) {
    return allocate<Partition>(state->css.ss.ps.state->es_query_cxt, 1,
                               sizeof(BuildPart) * state->plan.stage_count, MCXT_ALLOC_ZERO);
}

}  // namespace

Partition* partition_create(const GpuJoinState* state) {
    Partition* partition = allocate_partition(state);
    for (int i = 0; i < state->plan.stage_count; i++) partition->builds[i].kind = state->plan.stages[i].kind;
    return partition;
}

Partition* partition_copy(const GpuJoinState* state, const Partition* of) {
    int stages = state->plan.stage_count;
    Partition* partition = allocate_partition(state);
    memcpy(partition, of, offsetof(Partition, builds) + sizeof(BuildPart) * stages);
    partition->next = nullptr;
    share(&partition->probe);
    for (int i = 0; i < stages; i++) share(&partition->builds[i].input);
    return partition;
}

void partition_leave(Partition* partition, int stages) {
    leave(&partition->probe);
    for (int i = 0; i < stages; i++) leave(&partition->builds[i].input);
    pfree(partition);
}

InputPart* input_of(Partition* partition, int child) {
    return child == kProbeChild ? &partition->probe : &partition->builds[child].input;
}

const InputPart* input_of(const Partition* partition, int child) {
    return child == kProbeChild ? &partition->probe : &partition->builds[child].input;
}

void input_part_set(InputPart* input, RowFile* rows) {
    leave(input);
    input->rows = rows;
}

void input_part_read(InputPart* input, RowFlags* flags, RowsRead read) {
    if (input->flags != flags) {
        if (input->flags) row_flags_leave(input->flags);
        flags->users++;
    }
    input->flags = flags;
    input->read = read;
}

}  // namespace gpujoin
