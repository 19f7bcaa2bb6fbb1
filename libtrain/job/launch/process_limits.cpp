#include "libtrain/job/launch/process_limits.h"

#include <sys/resource.h>

#include <string>

namespace titan::train {

ckpt::Status check_open_files(std::uint64_t limit) {
  if (limit >= kLeastOpenFiles) return ckpt::ok_status();
  return ckpt::failed("a process may open " + std::to_string(limit) +
                      " files here (ulimit -n), a rank needs at least " + std::to_string(kLeastOpenFiles))
      .with_hint("ulimit -n 1024");
}

ckpt::Status check_process_limits() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return ckpt::ok_status();  // then the first failing open says so
  return check_open_files(files.rlim_cur);
}

}  // namespace titan::train
