// Makes a process believe that it runs on another host, on a store whose locks are not shared. Loaded with LD_PRELOAD.
//
//   SHIM_FLOCK=grant      every flock is granted (Lustre -o localflock, NFS -o nolock)
//   SHIM_FLOCK=ENOSYS     the store has no flock (Lustre without -o flock); also ENOLCK, EOPNOTSUPP
//   SHIM_STATFS=nfs       fstatfs says that the file system is NFS
//   SHIM_BOOT_ID=FILE     read in place of /proc/sys/kernel/random/boot_id
//   SHIM_HOST=NAME        gethostname
//   SHIM_CLOCK=SECONDS    added to CLOCK_REALTIME
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int flock(int fd, int operation) {
  const char* how = getenv("SHIM_FLOCK");
  if (how == NULL) return REAL(flock)(fd, operation);
  if (strcmp(how, "grant") == 0) return 0;
  errno = strcmp(how, "ENOLCK") == 0 ? ENOLCK : strcmp(how, "EOPNOTSUPP") == 0 ? EOPNOTSUPP : ENOSYS;
  return -1;
}

int fstatfs(int fd, struct statfs* info) {
  const int result = REAL(fstatfs)(fd, info);
  if (result == 0 && getenv("SHIM_STATFS") != NULL) info->f_type = 0x6969;
  return result;
}

static const char* instead(const char* path) {
  const char* file = getenv("SHIM_BOOT_ID");
  return file != NULL && path != NULL && strcmp(path, "/proc/sys/kernel/random/boot_id") == 0 ? file : path;
}

FILE* fopen(const char* path, const char* mode) { return REAL(fopen)(instead(path), mode); }
FILE* fopen64(const char* path, const char* mode) { return REAL(fopen64)(instead(path), mode); }

int gethostname(char* name, size_t size) {
  const char* host = getenv("SHIM_HOST");
  if (host == NULL) return REAL(gethostname)(name, size);
  snprintf(name, size, "%s", host);
  return 0;
}

int clock_gettime(clockid_t clock, struct timespec* time) {
  const int result = REAL(clock_gettime)(clock, time);
  const char* ahead = getenv("SHIM_CLOCK");
  if (result == 0 && clock == CLOCK_REALTIME && ahead != NULL) time->tv_sec += atol(ahead);
  return result;
}
