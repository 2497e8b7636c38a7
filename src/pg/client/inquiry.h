// Questions that need no session, each on a connection of its own. False, with the reason in *why, where the
// server cannot be reached, nor one that is being started after a few seconds.
#pragma once

#include "wire/message.h"
#include "wire/status.h"

namespace gpujoin {

bool client_get_devices(DevicesBody* devices, Status* why);
// The same, when it has measured them anew.
bool client_calibrate(DevicesBody* devices, Status* why);

// The tables that columns are kept of, and what memory these take.
bool client_get_kept(KeptTablesBody* tables, Status* why);
// Forgets those of a table first; of relation 0 those of all tables.
bool client_forget_kept(const ChunkKey& table, KeptTablesBody* left, Status* why);

}  // namespace gpujoin
