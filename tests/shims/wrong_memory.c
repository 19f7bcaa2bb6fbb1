// Preloaded: rank 0 sees one wrong byte in the first large read of a file below TITAN_WRONG_BELOW, as with bad memory. The file is whole.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_int done;

static void spoil(int fd, char *bytes, ssize_t got) {
  const char *rank = getenv("RANK"), *below = getenv("TITAN_WRONG_BELOW");
  char link[64], path[4096];
  if (got < 256 || rank == NULL || strcmp(rank, "0") != 0 || below == NULL) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return;
  path[size] = 0;
  if (strstr(path, below) != NULL && atomic_exchange(&done, 1) == 0) bytes[got / 2] ^= 1;
}

ssize_t pread(int fd, void *bytes, size_t size, off_t offset) {
  ssize_t (*next)(int, void *, size_t, off_t) = (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
  const ssize_t got = next(fd, bytes, size, offset);
  spoil(fd, bytes, got);
  return got;
}

ssize_t pread64(int fd, void *bytes, size_t size, off_t offset) {
  ssize_t (*next)(int, void *, size_t, off_t) = (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread64");
  const ssize_t got = next(fd, bytes, size, offset);
  spoil(fd, bytes, got);
  return got;
}
