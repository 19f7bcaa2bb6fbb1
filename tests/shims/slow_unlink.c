// Preloaded: the first removal of a file below a .trash- folder takes five seconds, as on a busy network store.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static atomic_int slept;

int unlink(const char *path) {
  int (*next)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "unlink");
  if (strstr(path, "/.trash-step-") != NULL && atomic_exchange(&slept, 1) == 0) sleep(5);
  return next(path);
}
