// The extension's entry. In every process that loads the library: settings, the node's methods (a parallel
// worker must find them), the join hook. In the postmaster also: shared memory and the supervisor. Loaded
// later than shared_preload_libraries there is no server, and the planner declines every join.
#include "pg/compat.h"
#include "pg/join_hook.h"
#include "pg/nodes.h"
#include "pg/settings.h"
#include "pg/shared_state.h"
#include "pg/supervisor.h"

extern "C" {
PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

void _PG_init(void) {
    using namespace gpujoin;
    define_settings();
    if (!GetCustomScanMethods(kNodeName, true)) RegisterCustomScanMethods(&scan_methods);
    install_witnessed_join_hook();
    if (!process_shared_preload_libraries_in_progress) return;
    install_shared_state();
    if (!IsBinaryUpgrade) register_supervisor();
}
}
