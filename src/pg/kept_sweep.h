// Forgetting what is kept of files that no table has any more: those that it had before it was written anew,
// cut to nothing or dropped. Nobody will ask for them, so that they would take room until they are stale.
#pragma once

namespace gpujoin {

// Of the current database, and of those that were dropped. In a transaction. Does nothing where the server
// does not answer.
void sweep_kept_files();

}  // namespace gpujoin
