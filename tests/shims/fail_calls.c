// A preload library that makes the k-th system call of a kind fail, come back short, take long, or kill the process.
// Only calls on paths below TITAN_SHIM_UNDER count (allocations and threads: all, once such a path was met).
//
//   TITAN_SHIM_UNDER   folders, separated by ':'
//   TITAN_SHIM_RANK    only in the process with this RANK; "none": only where RANK is not set; unset: everywhere
//   TITAN_SHIM_CALL    the kind of call, or "any" for each that changes something, "room" for each that a full store may
//                      refuse, "data" for each that writes bytes, "store" for each that has a path
//   TITAN_SHIM_K       which one, from 1 on
//   TITAN_SHIM_DO      a number: that errno; "short": half of the bytes; "slow:MS"; "kill": SIGKILL before it;
//                      "kill-after"; "wait:FILE": until that file is there, for a minute at most; "flip:N": the N-th
//                      bit (counted on from the last one to the first) of what is written is another one
//   TITAN_SHIM_STICKY  1: all calls of this kind from the k-th on
//   TITAN_SHIM_MS      so many milliseconds long all calls of this kind, in all processes, from the k-th of them all on
//   TITAN_SHIM_SHARED  a file of their own in which processes count together; needed with TITAN_SHIM_MS
//   TITAN_SHIM_MATCH   only paths that contain this text
//   TITAN_SHIM_LOG     a file: a line "RANK KIND PATH" for each such call, "RANK FIRED KIND PATH" where it struck
//   TITAN_SHIM_NO_FLAGS  1: renameat2 with flags answers EINVAL, as NFS does
//   TITAN_SHIM_PACE    so many milliseconds before each line on standard output: a run takes time without computing
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum Effect { kNothing, kErrno, kShort, kSlow, kWait, kKill, kKillAfter, kFlip };

static struct {
  const char *under, *call, *match, *log, *rank;
  long k;
  int sticky, no_flags, active;
  enum Effect effect;
  const char* file;
  long value;  // errno, milliseconds, or a bit
  long for_ms, pace_ms;
} plan;

struct shared {
  atomic_long count, since;  // since: milliseconds of the clock, once a call was struck
};
static struct shared* shared;

static atomic_long count;
static atomic_int armed;  // a path below `under` was met
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_int ready;

// The raw system call: `syscall` itself is one of the calls that are replaced.
static long raw(long number, long a, long b, long c, long d, long e, long f) {
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

static void read_plan(void) {
  const char* text;
  plan.under = getenv("TITAN_SHIM_UNDER");
  plan.call = getenv("TITAN_SHIM_CALL");
  plan.match = getenv("TITAN_SHIM_MATCH");
  plan.log = getenv("TITAN_SHIM_LOG");
  plan.rank = getenv("RANK");
  plan.k = (text = getenv("TITAN_SHIM_K")) ? atol(text) : 0;
  plan.sticky = (text = getenv("TITAN_SHIM_STICKY")) && *text == '1';
  plan.no_flags = (text = getenv("TITAN_SHIM_NO_FLAGS")) && *text == '1';
  plan.pace_ms = (text = getenv("TITAN_SHIM_PACE")) ? atol(text) : 0;
  if ((text = getenv("TITAN_SHIM_DO")) != NULL) {
    if (!strcmp(text, "short")) {
      plan.effect = kShort;
    } else if (!strcmp(text, "kill")) {
      plan.effect = kKill;
    } else if (!strcmp(text, "kill-after")) {
      plan.effect = kKillAfter;
    } else if (!strncmp(text, "wait:", 5)) {
      plan.effect = kWait;
      plan.file = text + 5;
    } else if (!strncmp(text, "flip:", 5)) {
      plan.effect = kFlip;
      plan.value = atol(text + 5);
    } else if (!strncmp(text, "slow:", 5)) {
      plan.effect = kSlow;
      plan.value = atoi(text + 5);
    } else {
      plan.effect = kErrno;
      plan.value = atoi(text);
    }
  }
  if ((text = getenv("TITAN_SHIM_MS")) != NULL) {
    plan.for_ms = atol(text);
    const long fd = raw(SYS_openat, AT_FDCWD, (long)getenv("TITAN_SHIM_SHARED"), O_RDWR | O_CREAT | O_CLOEXEC, 0666, 0, 0);
    (void)raw(SYS_ftruncate, fd, sizeof *shared, 0, 0, 0, 0);
    shared = (struct shared*)raw(SYS_mmap, 0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)raw(SYS_close, fd, 0, 0, 0, 0, 0);
  }
  const char* wanted = getenv("TITAN_SHIM_RANK");
  const int here = !wanted || !strcmp(wanted, plan.rank ? plan.rank : "none");
  if (!plan.rank) plan.rank = "none";
  plan.active = plan.under && here;
  atomic_store(&ready, 1);
}

__attribute__((constructor)) static void begin(void) { pthread_once(&once, read_plan); }

static int below(const char* path) {
  for (const char* at = plan.under; at && *at;) {
    const char* end = strchrnul(at, ':');
    const size_t length = (size_t)(end - at);
    if (length && !strncmp(path, at, length) && (path[length] == '/' || path[length] == '\0')) return 1;
    at = *end ? end + 1 : end;
  }
  return 0;
}

static void note(const char* word, const char* kind, const char* path) {
  if (!plan.log) return;
  char line[PATH_MAX + 64];
  const int length = snprintf(line, sizeof line, "%s %s%s %s\n", plan.rank, word, kind, path);
  const long fd = raw(SYS_openat, AT_FDCWD, (long)plan.log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666, 0, 0);
  if (fd < 0) return;
  (void)raw(SYS_write, fd, (long)line, length < (int)sizeof line ? length : (int)sizeof line, 0, 0, 0);
  (void)raw(SYS_close, fd, 0, 0, 0, 0, 0);
}

// Those that a full store may refuse first.
static const char* const changing[] = {"create", "write", "pwrite", "fsync", "fdatasync", "ftruncate", "rename",
                                       "link",   "mkdir", "unlink", "rmdir", "chmod"};
enum { kChanging = sizeof changing / sizeof *changing, kNeedRoom = kChanging - 3 };

static int among(const char* kind, int names) {
  for (int i = 0; i < names; ++i)
    if (!strcmp(kind, changing[i])) return 1;
  return 0;
}

static int is_meant(const char* kind, const char* path) {
  if (!strcmp(plan.call, kind)) return 1;
  if (!strcmp(plan.call, "any")) return among(kind, kChanging);
  if (!strcmp(plan.call, "room")) return among(kind, kNeedRoom);
  if (!strcmp(plan.call, "data")) return !strcmp(kind, "write") || !strcmp(kind, "pwrite");
  return !strcmp(plan.call, "store") && path;
}

static void sleep_ms(int ms) {
  struct timespec left = {ms / 1000, (ms % 1000) * 1000000L};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

static void die(void) { (void)raw(SYS_kill, raw(SYS_getpid, 0, 0, 0, 0, 0, 0), SIGKILL, 0, 0, 0, 0); }

/// What shall become of this call. Slow ones have waited, and a "kill" does not come back.
static enum Effect meet(const char* kind, const char* path) {
  if (!atomic_load(&ready)) return kNothing;  // before our constructor: the loader's own calls
  if (!plan.active) return kNothing;
  if (path) {
    if (!below(path)) return kNothing;
    atomic_store(&armed, 1);
    if (plan.match && !strstr(path, plan.match)) return kNothing;
  } else if (!atomic_load(&armed)) {
    return kNothing;
  }
  const char* shown = path ? path : "-";
  if (!plan.call) {
    if (path) note("", kind, shown);
    return kNothing;
  }
  if (!is_meant(kind, path)) return kNothing;
  if (plan.k == 0) {
    note("", kind, shown);
    return kNothing;
  }
  const long nth = atomic_fetch_add(shared ? &shared->count : &count, 1) + 1;
  if (shared) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    const long now = time.tv_sec * 1000 + time.tv_nsec / 1000000;
    if (nth == plan.k) atomic_store(&shared->since, now);
    const long since = atomic_load(&shared->since);
    if (nth != plan.k && (since == 0 || now >= since + plan.for_ms)) return kNothing;
  } else if (nth != plan.k && !(plan.sticky && nth > plan.k)) {
    return kNothing;
  }
  if (nth == plan.k) note("FIRED ", kind, shown);
  if (plan.effect == kSlow) sleep_ms((int)plan.value);
  for (int i = 0; plan.effect == kWait && i < 3000; ++i) {
    if (raw(SYS_access, (long)plan.file, F_OK, 0, 0, 0, 0) == 0) break;
    sleep_ms(20);
  }
  if (plan.effect == kSlow || plan.effect == kWait) return kNothing;
  if (plan.effect == kKill) die();
  if (plan.effect == kErrno) errno = (int)plan.value;
  return plan.effect;
}

static const char* path_of(int fd, char* buffer) {
  char name[64];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  const long length = raw(SYS_readlink, (long)name, (long)buffer, PATH_MAX - 1, 0, 0, 0);
  if (length <= 0) return NULL;
  buffer[length] = '\0';
  return buffer[0] == '/' ? buffer : NULL;
}

static const char* path_at(int dir, const char* path, char* buffer) {
  if (path[0] == '/' || dir == AT_FDCWD) return path;
  if (!path_of(dir, buffer)) return path;
  const size_t length = strlen(buffer);
  if (path[0]) snprintf(buffer + length, PATH_MAX - length, "/%s", path);
  return buffer;
}

/// As meet(), for a descriptor; sockets, pipes and files elsewhere do not count.
static enum Effect meet_fd(const char* kind, int fd) {
  if (!atomic_load(&ready) || !plan.active) return kNothing;
  const int saved = errno;
  char buffer[PATH_MAX];
  const char* path = path_of(fd, buffer);
  errno = saved;
  return path ? meet(kind, path) : kNothing;
}

#define REAL(name) ((__typeof__(&name))real(#name))
static void* real(const char* name) { return dlsym(RTLD_NEXT, name); }

#define AROUND(effect, call)                        \
  do {                                              \
    const enum Effect met = (effect);               \
    if (met == kErrno || met == kShort) return -1;  \
    const __typeof__(call) result = (call);         \
    if (met == kKillAfter) die();                   \
    return result;                                  \
  } while (0)

static const char* kind_of_open(int flags) { return (flags & O_CREAT) ? "create" : "open"; }

static int open_with(const char* name, const char* path, int flags, mode_t mode) {
  AROUND(meet(kind_of_open(flags), path), ((int (*)(const char*, int, mode_t))real(name))(path, flags, mode));
}
static mode_t mode_in(int flags, va_list list) { return (flags & (O_CREAT | O_TMPFILE)) ? va_arg(list, mode_t) : 0; }

#define OPEN(name)                                \
  int name(const char* path, int flags, ...) {    \
    va_list list;                                 \
    va_start(list, flags);                        \
    const mode_t mode = mode_in(flags, list);     \
    va_end(list);                                 \
    return open_with(#name, path, flags, mode);   \
  }
OPEN(open)
OPEN(open64)

static int openat_with(const char* name, int dir, const char* path, int flags, mode_t mode) {
  char buffer[PATH_MAX];
  AROUND(meet(kind_of_open(flags), path_at(dir, path, buffer)),
         ((int (*)(int, const char*, int, mode_t))real(name))(dir, path, flags, mode));
}
#define OPENAT(name)                                     \
  int name(int dir, const char* path, int flags, ...) {  \
    va_list list;                                        \
    va_start(list, flags);                               \
    const mode_t mode = mode_in(flags, list);            \
    va_end(list);                                        \
    return openat_with(#name, dir, path, flags, mode);   \
  }
OPENAT(openat)
OPENAT(openat64)

int close(int fd) {
  const enum Effect met = meet_fd("close", fd);
  const int error = errno;
  const int result = REAL(close)(fd);  // the descriptor is gone in any case, as on Linux
  if (met == kKillAfter) die();
  if (met == kErrno) {
    errno = error;
    return -1;
  }
  return result;
}

#define TRANSFER(name, kind, type, ...)                              \
  {                                                                  \
    const enum Effect met = meet_fd(kind, fd);                       \
    if (met == kErrno) return -1;                                    \
    if (met == kShort && size > 1) size /= 2;                        \
    const ssize_t result = ((type)real(#name))(fd, data, __VA_ARGS__); \
    if (met == kKillAfter) die();                                    \
    return result;                                                   \
  }
/// A copy in which one bit is another one, aligned as what goes past the page cache must be; NULL: none.
static void* flipped(enum Effect met, const void* data, size_t size) {
  void* copy = NULL;
  if (met != kFlip || size == 0 || posix_memalign(&copy, 4096, size) != 0) return NULL;
  memcpy(copy, data, size);
  const size_t bit = (size_t)plan.value % (8 * size);
  ((unsigned char*)copy)[size - 1 - bit / 8] ^= (unsigned char)(1u << bit % 8);
  return copy;
}

#define SENDING(name, kind, type, ...)                                          \
  {                                                                             \
    const enum Effect met = meet_fd(kind, fd);                                  \
    if (met == kErrno) return -1;                                               \
    if (met == kShort && size > 1) size /= 2;                                   \
    void* const other = flipped(met, data, size);                               \
    const ssize_t result = ((type)real(#name))(fd, other ? other : data, __VA_ARGS__); \
    const int error = errno;                                                    \
    free(other);                                                                \
    errno = error;                                                              \
    if (met == kKillAfter) die();                                               \
    return result;                                                              \
  }
typedef ssize_t (*Read)(int, void*, size_t);
typedef ssize_t (*Pread)(int, void*, size_t, off64_t);
typedef ssize_t (*Write)(int, const void*, size_t);
typedef ssize_t (*Pwrite)(int, const void*, size_t, off64_t);
ssize_t read(int fd, void* data, size_t size) TRANSFER(read, "read", Read, size)
ssize_t pread(int fd, void* data, size_t size, off_t at) TRANSFER(pread, "pread", Pread, size, at)
ssize_t pread64(int fd, void* data, size_t size, off64_t at) TRANSFER(pread64, "pread", Pread, size, at)
static ssize_t write_now(int fd, const void* data, size_t size) SENDING(write, "write", Write, size)
ssize_t write(int fd, const void* data, size_t size) {
  if (fd == STDOUT_FILENO && plan.pace_ms > 0) {
    const struct timespec pause = {plan.pace_ms / 1000, plan.pace_ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
  }
  return write_now(fd, data, size);
}
ssize_t pwrite(int fd, const void* data, size_t size, off_t at) SENDING(pwrite, "pwrite", Pwrite, size, at)
ssize_t pwrite64(int fd, const void* data, size_t size, off64_t at) SENDING(pwrite64, "pwrite", Pwrite, size, at)

int fsync(int fd) { AROUND(meet_fd("fsync", fd), REAL(fsync)(fd)); }
int fdatasync(int fd) { AROUND(meet_fd("fdatasync", fd), REAL(fdatasync)(fd)); }
int ftruncate(int fd, off_t size) { AROUND(meet_fd("ftruncate", fd), REAL(ftruncate)(fd, size)); }
int ftruncate64(int fd, off64_t size) { AROUND(meet_fd("ftruncate", fd), REAL(ftruncate64)(fd, size)); }
int fstat(int fd, struct stat* info) { AROUND(meet_fd("fstat", fd), REAL(fstat)(fd, info)); }
int fstat64(int fd, struct stat64* info) { AROUND(meet_fd("fstat", fd), REAL(fstat64)(fd, info)); }
int flock(int fd, int operation) { AROUND(meet_fd("flock", fd), REAL(flock)(fd, operation)); }
int fchmod(int fd, mode_t mode) { AROUND(meet_fd("chmod", fd), REAL(fchmod)(fd, mode)); }

int stat(const char* path, struct stat* info) { AROUND(meet("stat", path), REAL(stat)(path, info)); }
int stat64(const char* path, struct stat64* info) { AROUND(meet("stat", path), REAL(stat64)(path, info)); }
int lstat(const char* path, struct stat* info) { AROUND(meet("stat", path), REAL(lstat)(path, info)); }
int lstat64(const char* path, struct stat64* info) { AROUND(meet("stat", path), REAL(lstat64)(path, info)); }
int fstatat(int dir, const char* path, struct stat* info, int flags) {
  char buffer[PATH_MAX];
  AROUND(meet("stat", path_at(dir, path, buffer)), REAL(fstatat)(dir, path, info, flags));
}
int fstatat64(int dir, const char* path, struct stat64* info, int flags) {
  char buffer[PATH_MAX];
  AROUND(meet("stat", path_at(dir, path, buffer)), REAL(fstatat64)(dir, path, info, flags));
}
int statvfs(const char* path, struct statvfs* info) { AROUND(meet("statvfs", path), REAL(statvfs)(path, info)); }
int statvfs64(const char* path, struct statvfs64* info) { AROUND(meet("statvfs", path), REAL(statvfs64)(path, info)); }
int chmod(const char* path, mode_t mode) { AROUND(meet("chmod", path), REAL(chmod)(path, mode)); }
int mkdir(const char* path, mode_t mode) { AROUND(meet("mkdir", path), REAL(mkdir)(path, mode)); }
int rmdir(const char* path) { AROUND(meet("rmdir", path), REAL(rmdir)(path)); }
int unlink(const char* path) { AROUND(meet("unlink", path), REAL(unlink)(path)); }
int unlinkat(int dir, const char* path, int flags) {
  char buffer[PATH_MAX];
  const char* kind = (flags & AT_REMOVEDIR) ? "rmdir" : "unlink";
  AROUND(meet(kind, path_at(dir, path, buffer)), REAL(unlinkat)(dir, path, flags));
}
int link(const char* from, const char* to) { AROUND(meet("link", to), REAL(link)(from, to)); }
int rename(const char* from, const char* to) { AROUND(meet("rename", from), REAL(rename)(from, to)); }
int renameat2(int from_dir, const char* from, int to_dir, const char* to, unsigned flags) {
  char buffer[PATH_MAX];
  if (flags && atomic_load(&ready) && plan.no_flags && below(path_at(from_dir, from, buffer))) {
    errno = EINVAL;
    return -1;
  }
  AROUND(meet("rename", path_at(from_dir, from, buffer)), REAL(renameat2)(from_dir, from, to_dir, to, flags));
}

DIR* opendir(const char* path) {
  const enum Effect met = meet("opendir", path);
  if (met == kErrno || met == kShort) return NULL;
  DIR* result = REAL(opendir)(path);
  if (met == kKillAfter) die();
  return result;
}
struct dirent* readdir(DIR* dir) {
  if (meet_fd("readdir", dirfd(dir)) == kErrno) return NULL;
  return REAL(readdir)(dir);
}
struct dirent64* readdir64(DIR* dir) {
  if (meet_fd("readdir", dirfd(dir)) == kErrno) return NULL;
  return REAL(readdir64)(dir);
}
char* realpath(const char* path, char* out) {
  if (meet("realpath", path) == kErrno) return NULL;
  return REAL(realpath)(path, out);
}

void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) {
  if (fd >= 0 && meet_fd("mmap", fd) == kErrno) return MAP_FAILED;
  const long result = raw(SYS_mmap, (long)at, (long)size, protection, flags, fd, offset);
  if (result < 0 && result > -4096) {
    errno = (int)-result;
    return MAP_FAILED;
  }
  return (void*)result;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  if (meet("thread", NULL) == kErrno) return (int)plan.value;
  return REAL(pthread_create)(thread, attributes, start, argument);
}

// openat2 has no function of its own in the C library.
long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
  va_end(list);
  enum Effect met = kNothing;
  if (number == 437) {  // openat2
    char buffer[PATH_MAX];
    met = meet("open", path_at((int)a[0], (const char*)a[1], buffer));
  }
  if (met == kErrno || met == kShort) return -1;
  const long result = raw(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  if (result < 0 && result > -4096) {
    errno = (int)-result;
    return -1;
  }
  return result;
}

// Allocations: from the first path that was met on. Small ones are left alone: libraries that end a process for want of
// 20 bytes say nothing about ours.
extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
static int no_memory(size_t size) {
  if (size < 1024 || !atomic_load(&ready) || !plan.call || strcmp(plan.call, "malloc")) return 0;
  return meet("malloc", NULL) == kErrno;
}
void* malloc(size_t size) { return no_memory(size) ? NULL : __libc_malloc(size); }
void* calloc(size_t count_of, size_t size) { return no_memory(count_of * size) ? NULL : __libc_calloc(count_of, size); }
void* realloc(void* old, size_t size) { return no_memory(size) ? NULL : __libc_realloc(old, size); }
void* memalign(size_t align, size_t size) { return no_memory(size) ? NULL : __libc_memalign(align, size); }
void* aligned_alloc(size_t align, size_t size) { return no_memory(size) ? NULL : __libc_memalign(align, size); }
int posix_memalign(void** out, size_t align, size_t size) {
  if (no_memory(size)) return ENOMEM;
  void* made = __libc_memalign(align, size);
  if (!made) return ENOMEM;
  *out = made;
  return 0;
}
