// See shared_memory.h. One pair of hooks serves all of them.
#include "pg/shared_memory.h"

#include <cstring>

#include "wire/build.h"

extern "C" {
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
}

namespace gpujoin {

namespace {

constexpr int kMostStructs = 8;

const SharedStruct* installed[kMostStructs];
int count = 0;
shmem_request_hook_type previous_request_hook = nullptr;
shmem_startup_hook_type previous_startup_hook = nullptr;

void on_shmem_request() {
    if (previous_request_hook) previous_request_hook();
    for (int i = 0; i < count; i++) {
        RequestAddinShmemSpace(MAXALIGN(installed[i]->bytes));
        if (installed[i]->lock_name) RequestNamedLWLockTranche(installed[i]->lock_name, 1);
    }
}

void attach(const SharedStruct* shared) {
    bool found;
    void* memory = ShmemInitStruct(shared->name, shared->bytes, &found);
    auto* build = static_cast<uint64*>(memory);
    if (!found) {
        memset(memory, 0, shared->bytes);
        *build = kBuildId;
    }
    LWLock* lock = shared->lock_name ? &GetNamedLWLockTranche(shared->lock_name)->lock : nullptr;
    shared->attach(*build == kBuildId ? memory : nullptr, lock, !found);
}

void on_shmem_startup() {
    if (previous_startup_hook) previous_startup_hook();
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    for (int i = 0; i < count; i++) attach(installed[i]);
    LWLockRelease(AddinShmemInitLock);
}

}  // namespace

void install_shared_struct(const SharedStruct* shared) {
    if (count == 0) {
        previous_request_hook = shmem_request_hook;
        shmem_request_hook = on_shmem_request;
        previous_startup_hook = shmem_startup_hook;
        shmem_startup_hook = on_shmem_startup;
    }
    Assert(count < kMostStructs);
    installed[count++] = shared;
}

}  // namespace gpujoin
