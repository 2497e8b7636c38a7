// The supervisor: a background worker that keeps a gpujoin_server running.
#pragma once

namespace gpujoin {

// Registers the background worker. While shared_preload_libraries are loaded only.
void register_supervisor();

}  // namespace gpujoin
