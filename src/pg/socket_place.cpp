// See socket_place.h.
#include "pg/socket_place.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

extern "C" {
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "pgstat.h"
#include "postmaster/postmaster.h"
#include "storage/fd.h"
#include "utils/varlena.h"
}

namespace gpujoin {
namespace {

constexpr const char* kLastFolder = PG_STAT_TMP_DIR;
constexpr const char* kLastPrefix = "pgsql_tmp_gpujoin.";
constexpr time_t kTouchedEverySeconds = 600;

// As PostgreSQL's own socket is named: nobody else's has such a name in a folder that it has locked.
void prefix_beside_postgres(char* prefix, Size bytes) {
    snprintf(prefix, bytes, ".s.gpujoin.%d.", PostPortNumber);
}

// unix_socket_directories. PostgreSQL would not have started with what cannot be split.
List* socket_folders() {
    List* folders = NIL;
    char* written = pstrdup(Unix_socket_directories ? Unix_socket_directories : "");
    (void)SplitDirectoriesString(written, ',', &folders);
    pfree(written);
    return folders;
}

bool is_abstract(const char* folder) {
    return folder[0] == '@';
}

bool name_in(const char* folder, const char* prefix, uint64 generation, char* name) {
    if (is_abstract(folder)) return false;
    const int length =
        snprintf(name, kSocketNameBytes, "%s/%s%d." UINT64_FORMAT, folder, prefix, MyProcPid, generation);
    return length > 0 && static_cast<Size>(length) < kSocketNameBytes;
}

void remove_from(const char* folder, const char* prefix) {
    if (is_abstract(folder)) return;
    char path[MAXPGPATH];
    DIR* directory = AllocateDir(folder);
    while (struct dirent* entry = ReadDirExtended(directory, folder, LOG)) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    if (directory) FreeDir(directory);
}

}  // namespace

void name_socket(uint64 generation, char* name) {
    char prefix[NAMEDATALEN];
    prefix_beside_postgres(prefix, sizeof prefix);
    List* folders = socket_folders();
    bool is_named = false;
    ListCell* cell;
    foreach (cell, folders)
        is_named = is_named || name_in(static_cast<const char*>(lfirst(cell)), prefix, generation, name);
    list_free_deep(folders);
    if (is_named) return;
    (void)MakePGDirectory(kLastFolder);  // it is there, unless a backup left it out
    name_in(kLastFolder, kLastPrefix, generation, name);
}

bool keep_socket(const char* name) {
    struct stat status;
    if (stat(name, &status) != 0) return errno != ENOENT;
    if (status.st_mtime + kTouchedEverySeconds < time(nullptr)) utime(name, nullptr);
    return true;
}

void remove_stale_sockets() {
    char prefix[NAMEDATALEN];
    prefix_beside_postgres(prefix, sizeof prefix);
    List* folders = socket_folders();
    ListCell* cell;
    foreach (cell, folders) remove_from(static_cast<const char*>(lfirst(cell)), prefix);
    list_free_deep(folders);
    remove_from(kLastFolder, kLastPrefix);
    remove_from(".", kLastPrefix);
}

}  // namespace gpujoin
