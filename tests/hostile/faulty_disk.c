/* A disk that fails at a chosen call, for LD_PRELOAD: short writes, a full disk, or the end of the process. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { NONE, SHORT, FULL, KILL_BEFORE, KILL_AFTER };
static int fault, last, calls, full;

void faulty_disk(int kind, int nth) { fault = kind, last = nth, calls = 0, full = 0; }
int faulty_disk_calls(void) { return calls; }

static void die(void) { syscall(SYS_kill, getpid(), SIGKILL); }

/* The fault of this call; a full disk stays full for what writes. */
static int now(void) {
    if (++calls != last) return full ? FULL : NONE;
    full = fault == FULL;
    return fault;
}

static long after(int kind, long result) {
    if (kind == KILL_AFTER) die();
    return result;
}

#define FAIL_IF(kind, error) \
    if (kind == KILL_BEFORE) die(); \
    if (kind == FULL) { errno = error; return -1; }

ssize_t write(int fd, const void *data, size_t size) {
    int kind = fd > 2 ? now() : NONE;
    if (kind != NONE && kind != KILL_AFTER) {
        size_t part = size / 2;
        if (part || kind != SHORT) {
            long written = syscall(SYS_write, fd, data, part);
            FAIL_IF(kind, ENOSPC)
            return written;
        }
    }
    return after(kind, syscall(SYS_write, fd, data, size));
}

int fsync(int fd) {
    int kind = now();
    FAIL_IF(kind, EIO)
    return (int)after(kind, syscall(SYS_fsync, fd));
}

int rename(const char *from, const char *to) {
    int kind = now();
    FAIL_IF(kind, ENOSPC)
    return (int)after(kind, syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to));
}

int chmod(const char *path, mode_t mode) {
    int kind = now();
    FAIL_IF(kind, EIO)
    return (int)after(kind, syscall(SYS_fchmodat, AT_FDCWD, path, mode));
}

int close(int fd) {
    int kind = fd > 2 ? now() : NONE;
    if (kind == KILL_BEFORE) die();
    long result = syscall(SYS_close, fd);
    if (kind == FULL) { errno = EIO; return -1; }
    return (int)after(kind, result);
}

static int opened(const char *path, int flags, mode_t mode) {
    int kind = flags & O_CREAT ? now() : NONE;
    FAIL_IF(kind, ENOSPC)
    return (int)after(kind, syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        return opened(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
