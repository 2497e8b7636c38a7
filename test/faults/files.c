/*
 * files.c: has the n-th call fail that opens, writes, reads or removes a temporary file of PostgreSQL's, in whatever
 * process of a cluster it is. Preloaded (LD_PRELOAD) into the postmaster, whose children inherit it.
 *
 * Which one is told by a file that all of them have mapped, GPUJOIN_FILE_FAULT, so that no restart is needed: see struct
 * control, which files.py writes. Without it all calls are as they were.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NOTHING, OPEN, WRITE, FULL_DISK, READ, UNLINK, CUT };

struct control {
    _Atomic uint32_t point; /* the calls that are counted; of FULL_DISK writes, of CUT reads, which then find the end */
    int32_t error;          /* errno of the one that fails */
    _Atomic int32_t before; /* how many calls are still to succeed */
    _Atomic uint32_t met;   /* calls that have failed */
};

static struct control *control;

enum { DESCRIPTORS = 1 << 16 };
static _Atomic bool is_temporary[DESCRIPTORS];

static __attribute__((constructor)) void map_control(void) {
    const char *path = getenv("GPUJOIN_FILE_FAULT");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *mapped = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) control = mapped;
    close(file);
}

#define NEXT(function)                                                                         \
    ({                                                                                         \
        static __typeof__(&function) next;                                                     \
        if (!next) next = (__typeof__(&function))dlsym(RTLD_NEXT, #function);                  \
        next;                                                                                  \
    })

static bool names_temporary(const char *path) { return path && strstr(path, "pgsql_tmp"); }

static bool is_temporary_file(int file) { return file >= 0 && file < DESCRIPTORS && is_temporary[file]; }

/*
 * Does this call fail, with errno set? As a disk fills up a write is short before all others fail. A file that cannot be
 * opened PostgreSQL tries to open once more, so that all later ones fail, too.
 */
static bool fails(uint32_t point, bool *is_short) {
    if (is_short) *is_short = false;
    if (!control) return false;
    uint32_t wanted = control->point;
    bool fills = wanted == FULL_DISK && point == WRITE;
    if (wanted != point && !fills) return false;
    int32_t before = atomic_fetch_sub(&control->before, 1);
    if (fills && is_short) *is_short = before == 1;
    if (fills || point == OPEN ? before > 0 : before != 0) return false;
    atomic_fetch_add(&control->met, 1);
    errno = control->error;
    return true;
}

static int opened(int file, const char *path) {
    if (file >= 0 && file < DESCRIPTORS) is_temporary[file] = names_temporary(path);
    return file;
}

#define DEFINE_OPEN(function, parameters, ...)                                                 \
    int function(parameters const char *path, int flags, ...) {                                \
        mode_t mode = 0;                                                                       \
        if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) {                           \
            va_list rest;                                                                      \
            va_start(rest, flags);                                                             \
            mode = va_arg(rest, mode_t);                                                       \
            va_end(rest);                                                                      \
        }                                                                                      \
        if (names_temporary(path) && fails(OPEN, NULL)) return -1;                             \
        return opened(NEXT(function)(__VA_ARGS__ path, flags, mode), path);                    \
    }
#define NONE
#define FOLDER int folder,
DEFINE_OPEN(open, NONE)
DEFINE_OPEN(open64, NONE)
DEFINE_OPEN(openat, FOLDER, folder, )
DEFINE_OPEN(openat64, FOLDER, folder, )

int close(int file) {
    if (is_temporary_file(file)) is_temporary[file] = false;
    return NEXT(close)(file);
}

int unlink(const char *path) {
    if (names_temporary(path) && fails(UNLINK, NULL)) return -1;
    return NEXT(unlink)(path);
}

/* Half of it, or of the first piece. */
#define DEFINE_WRITE(function, offset_type)                                                    \
    ssize_t function(int file, const void *data, size_t size, offset_type at) {                \
        bool is_short = false;                                                                 \
        if (is_temporary_file(file) && fails(WRITE, &is_short)) return -1;                     \
        return NEXT(function)(file, data, is_short ? size / 2 : size, at);                     \
    }
#define DEFINE_WRITE_PIECES(function, offset_type)                                             \
    ssize_t function(int file, const struct iovec *pieces, int count, offset_type at) {        \
        bool is_short = false;                                                                 \
        if (is_temporary_file(file) && fails(WRITE, &is_short)) return -1;                     \
        struct iovec half = *pieces;                                                           \
        half.iov_len /= 2;                                                                     \
        return NEXT(function)(file, is_short ? &half : pieces, is_short ? 1 : count, at);      \
    }
#define DEFINE_READ(function, data_type, offset_type)                                          \
    ssize_t function(int file, data_type data, size_t size, offset_type at) {                  \
        if (is_temporary_file(file) && fails(READ, NULL)) return -1;                           \
        if (is_temporary_file(file) && fails(CUT, NULL)) return 0;                             \
        return NEXT(function)(file, data, size, at);                                           \
    }
#define DEFINE_READ_PIECES(function, offset_type)                                              \
    ssize_t function(int file, const struct iovec *pieces, int count, offset_type at) {        \
        if (is_temporary_file(file) && fails(READ, NULL)) return -1;                           \
        if (is_temporary_file(file) && fails(CUT, NULL)) return 0;                             \
        return NEXT(function)(file, pieces, count, at);                                        \
    }
DEFINE_WRITE(pwrite, off_t)
DEFINE_WRITE(pwrite64, off64_t)
DEFINE_WRITE_PIECES(pwritev, off_t)
DEFINE_WRITE_PIECES(pwritev64, off64_t)
DEFINE_READ(pread, void *, off_t)
DEFINE_READ(pread64, void *, off64_t)
DEFINE_READ_PIECES(preadv, off_t)
DEFINE_READ_PIECES(preadv64, off64_t)
