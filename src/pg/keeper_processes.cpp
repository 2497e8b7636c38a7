// See keeper_processes.h.
#include "pg/keeper_processes.h"

#include <unistd.h>

#include "pg/settings.h"

extern "C" {
#include "miscadmin.h"
#include "postmaster/bgworker.h"
}

namespace gpujoin {

namespace {

// Where nothing is set. Others may need places for processes for longer than the keeper does.
constexpr int kMostAlone = 8;
constexpr int kShareOfProcessors = 2;
constexpr int kShareOfPlaces = 4;
constexpr uint32 kChunksOfHelper = 2;  // so many at least, or none comes

bool start(Oid database, const char* name, const char* function) {
    BackgroundWorker worker = {};
    strlcpy(worker.bgw_name, name, BGW_MAXLEN);
    strlcpy(worker.bgw_type, name, BGW_MAXLEN);
    worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
    worker.bgw_start_time = BgWorkerStart_ConsistentState;
    worker.bgw_restart_time = BGW_NEVER_RESTART;
    worker.bgw_main_arg = ObjectIdGetDatum(database);
    strlcpy(worker.bgw_library_name, "gpujoin", sizeof worker.bgw_library_name);
    strlcpy(worker.bgw_function_name, function, sizeof worker.bgw_function_name);
    return RegisterDynamicBackgroundWorker(&worker, nullptr);
}

int processors() {
    static const int count =
        static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));  // read from files of the kernel
    return count;
}

}  // namespace

bool start_keeper(Oid database) {
    return start(database, "gpujoin keeper", "gpujoin_keeper_main");
}

bool start_helper(Oid database) {
    return start(database, "gpujoin keeper helper", "gpujoin_keeper_helper_main");
}

int most_helpers(uint32 chunks) {
    int workers = setting_keep_workers;
    if (workers == 0)
        workers =
            Min(Min(processors() / kShareOfProcessors, max_worker_processes / kShareOfPlaces), kMostAlone);
    return Min(Max(workers - 1, 0), static_cast<int>(chunks / kChunksOfHelper));
}

}  // namespace gpujoin
