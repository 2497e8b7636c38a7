// Structs that processes share in PostgreSQL's memory. Each begins with the build of the library that has
// made it: where processes load the library anew, those of another build do not use it.
#pragma once

extern "C" {
#include "postgres.h"
#include "storage/lwlock.h"
}

namespace gpujoin {

struct SharedStruct {
    const char* name;       // as pg_shmem_allocations shows it
    Size bytes;             // of a struct whose first member is a uint64, its build
    const char* lock_name;  // of the lock that comes with it; nullptr: none does
    // Called once in each process: it lies there, or nowhere (nullptr) for this build. is_new: it was just
    // made, and is zero but for its build. No two processes are in it at a time.
    void (*attach)(void* memory, LWLock* lock, bool is_new);
};

// Asks for it, while shared_preload_libraries are loaded. What is passed has to stay.
void install_shared_struct(const SharedStruct* shared);

}  // namespace gpujoin
