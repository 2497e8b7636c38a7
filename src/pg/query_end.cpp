// See query_end.h. A run of the executor may be within others: the error that ends an inner one ends the
// outer ones too, or is caught between them, after what the inner one had was freed.
#include "pg/query_end.h"

#include "pg/compat.h"

extern "C" {
#include "access/parallel.h"
#include "executor/executor.h"
}

namespace gpujoin {
namespace {

ExecutorRun_hook_type previous_hook;
bool is_failing;

bool is_no_failure(int sqlstate) {
    return sqlstate == ERRCODE_QUERY_CANCELED || sqlstate == ERRCODE_ADMIN_SHUTDOWN;
}

void run(QueryDesc* query, ScanDirection direction, uint64 count RUN_ONCE_PARAMETER) {
    is_failing = false;
    PG_TRY();
    {
        if (previous_hook)
            previous_hook(query, direction, count RUN_ONCE_ARGUMENT);
        else
            standard_ExecutorRun(query, direction, count RUN_ONCE_ARGUMENT);
    }
    PG_CATCH();
    {
        is_failing = !is_no_failure(geterrcode());
        PG_RE_THROW();
    }
    PG_END_TRY();
}

}  // namespace

void install_query_end_hook() {
    previous_hook = ExecutorRun_hook;
    ExecutorRun_hook = run;
}

bool has_query_failed() {
    return is_failing && (IsParallelWorker() || !proc_exit_inprogress);  // an error ends a worker
}

}  // namespace gpujoin
