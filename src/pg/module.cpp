// The extension's entry. In every process that loads the library: settings, the node's methods (a parallel
// worker must find them), the join hook. In the postmaster also: shared memory and the supervisor. Loaded
// later than shared_preload_libraries there is no server, and the planner declines every join.
#include "pg/compat.h"
#include "pg/entry_points.h"
#include "pg/join_hook.h"
#include "pg/join_statistics.h"
#include "pg/keep_requests.h"
#include "pg/keep_sharing.h"
#include "pg/kept_tables.h"
#include "pg/query_end.h"
#include "pg/running_joins.h"
#include "pg/settings.h"
#include "pg/shared_state.h"
#include "pg/supervisor.h"
#include "pg/vacuum_ends.h"

extern "C" {
PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

// A plan names its node's methods, and workers find them by that name: were it somebody else's, our plans
// would run their code. The name is ours already where an earlier attempt to load the library failed later
// on.
static void register_node(const CustomScanMethods* methods) {
    const CustomScanMethods* registered = GetCustomScanMethods(methods->CustomName, true);
    if (registered == nullptr) RegisterCustomScanMethods(methods);
    if (registered != nullptr && registered != methods)
        ereport(ERROR, errcode(ERRCODE_DUPLICATE_OBJECT),
                errmsg("another extension has registered a plan node named \"%s\"", methods->CustomName),
                errhint("Remove that extension or gpujoin from shared_preload_libraries."));
}

void _PG_init(void) {
    using namespace gpujoin;
    register_node(&scan_methods);
    register_node(&kept_scan_methods);
    register_node(&group_methods);
    register_node(&complete_groups_methods);
    define_settings();
    install_noted_join_hook();
    install_join_search();
    install_groups_hook();
    install_kept_scan_hook();
    install_top_rows();
    install_explain_hook();
    install_query_end_hook();
    if (!process_shared_preload_libraries_in_progress) return;
    install_shared_state();
    install_kept_tables();
    install_vacuum_ends();
    install_keep_requests();
    install_keep_sharing();
    install_prospects();
    install_running_joins();
    install_join_statistics();
    if (!IsBinaryUpgrade) register_supervisor();
}
}
