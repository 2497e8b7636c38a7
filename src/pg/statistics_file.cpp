// See statistics_file.h.
#include "pg/statistics_file.h"

#include <unistd.h>

#include <cerrno>

#include "pg/compat.h"

extern "C" {
#include "pgstat.h"
#include "port/pg_crc32c.h"
#include "storage/fd.h"
}

namespace gpujoin {

namespace {

constexpr const char* kPath = PGSTAT_STAT_PERMANENT_DIRECTORY "/gpujoin.stat";
constexpr const char* kNewPath = PGSTAT_STAT_PERMANENT_DIRECTORY "/gpujoin.stat.tmp";

// To be changed with what is counted (Figure), or how that is stored.
constexpr uint32 kFormat = 0x67706A01;

struct FileHead {
    uint32 format;
    uint32 size;      // of what follows
    pg_crc32c check;  // of that
};

FileHead head_of(const void* statistics, uint32 bytes) {
    FileHead head = {kFormat, bytes, 0};
    INIT_CRC32C(head.check);
    COMP_CRC32C(head.check, statistics, bytes);
    FIN_CRC32C(head.check);
    return head;
}

bool read_whole(FILE* file, void* into, uint32 bytes) {
    FileHead head;
    if (fread(&head, sizeof head, 1, file) != 1 || fread(into, bytes, 1, file) != 1) return false;
    return head.format == kFormat && head.size == bytes && EQ_CRC32C(head.check, head_of(into, bytes).check);
}

bool write_whole(FILE* file, const void* statistics, uint32 bytes) {
    const FileHead head = head_of(statistics, bytes);
    return fwrite(&head, sizeof head, 1, file) == 1 && fwrite(statistics, bytes, 1, file) == 1;
}

}  // namespace

bool read_stored_statistics(void* into, uint32 bytes) {
    FILE* file = AllocateFile(kPath, PG_BINARY_R);
    if (!file) {
        if (errno != ENOENT)
            ereport(LOG, (errcode_for_file_access(), errmsg("could not read file \"%s\": %m", kPath)));
        return false;
    }
    const bool is_whole = read_whole(file, into, bytes);
    FreeFile(file);
    if (!is_whole)
        ereport(LOG, (errcode(ERRCODE_DATA_CORRUPTED),
                      errmsg("ignoring statistics of gpujoin in file \"%s\"", kPath),
                      errdetail("It is not whole, or of another version.")));
    return is_whole;
}

void remove_stored_statistics() {
    unlink(kPath);
}

void store_statistics(const void* statistics, uint32 bytes) {
    FILE* file = AllocateFile(kNewPath, PG_BINARY_W);
    bool is_written = file && write_whole(file, statistics, bytes);
    if (file && FreeFile(file) != 0) is_written = false;
    if (is_written) {
        durable_rename(kNewPath, kPath, LOG);
        return;
    }
    ereport(LOG, (errcode_for_file_access(), errmsg("could not write file \"%s\": %m", kNewPath)));
    unlink(kNewPath);
}

}  // namespace gpujoin
