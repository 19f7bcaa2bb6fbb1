#pragma once
// The system calls of this test program, seen and made to fail: the linker leads each of them through here (--wrap).
#include <string>
#include <vector>

namespace titan::test {

/// While one lives, calls that name or hold a path below `folder` are noted, in order: "fsync /tmp/x/run".
/// Only one at a time, and only calls of the program's own code; libc's calls of itself are not seen.
class Kernel {
 public:
  explicit Kernel(std::string folder);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  /// The next `times` calls of this name (any, when empty) fail with `error` and do nothing. A pwrite with error 0
  /// takes no byte.
  void fail(const std::string& call, int error, int times = 1);
  /// The next ioctl does nothing and succeeds, as on a file system with clones.
  void clone_works();
  /// Whether all that fail() promised has happened.
  bool failed() const;

  std::vector<std::string> calls() const;
  /// How often `call` was made of `path`.
  std::size_t count(const std::string& call, const std::string& path) const;
  /// The place of its first call in calls(), or the number of calls.
  std::size_t place(const std::string& call, const std::string& path) const;
};

}  // namespace titan::test
