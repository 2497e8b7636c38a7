// See partition.h.
#include "pg/executor/partition.h"

#include "pg/allocate.h"

namespace gpujoin {

Partition* partition_create(MemoryContext context, int stages) {
    return allocate<Partition>(context, 1, sizeof(BuildPart) * stages, MCXT_ALLOC_ZERO);
}

void partition_leave(Partition* partition, int stages) {
    if (partition->probe) row_file_leave(partition->probe);
    for (int i = 0; i < stages; i++)
        if (partition->builds[i].rows) row_file_leave(partition->builds[i].rows);
    pfree(partition);
}

}  // namespace gpujoin
