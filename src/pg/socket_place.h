// Where the server's socket lies: beside PostgreSQL's own, in the first of unix_socket_directories that is a
// folder, as a file that only PostgreSQL's user may open. In the data directory it would be in the way of
// tools that copy or check what they find there; pg_rewind from a running server fails over it. Where
// PostgreSQL has no such folder, or one with too long a name, it is in pg_stat_tmp, with a name that begins
// as those of temporary files do: both are passed over by pg_basebackup and pg_rewind.
#pragma once

extern "C" {
#include "postgres.h"
}

namespace gpujoin {

inline constexpr Size kSocketNameBytes = 108;  // sizeof sockaddr_un::sun_path

// For the server of that generation that this process starts; in name, of kSocketNameBytes. Relative to the
// data directory, the working directory of every process.
void name_socket(uint64 generation, char* name);

// Whether it is still there. Who tidies folders up by the age of files leaves it there, as PostgreSQL's own.
bool keep_socket(const char* name);

// Removes those that servers of this cluster, with the same port, could not unlink, because they were killed;
// also in the data directory, where version 0.1.0 had them.
void remove_stale_sockets();

}  // namespace gpujoin
