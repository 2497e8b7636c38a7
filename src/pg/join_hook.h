// Is the planner's join hook still ours? Extensions form a chain of set_join_pathlist_hook, each calling the
// one that was there before; one that does not call it (Citus, for one) cuts off all that were loaded before
// it, silently. A hook in front of the planner room's, which notes that it
// was called, finds out.
#pragma once

namespace gpujoin {

// Installs the planner room's hook, with the noting one in front of it.
void install_noted_join_hook();

// True while it is reachable, or cannot be told otherwise; see gpujoin_status().
bool join_hook_is_active();

}  // namespace gpujoin
