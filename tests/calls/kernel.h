#pragma once
// Records and injects failures into the system calls of this test program; the linker routes them through here
// (--wrap).
#include <string>
#include <vector>

namespace titan::test {

/// During its lifetime, calls with a path below `folder` are recorded in order: "fsync /tmp/x/run". Only one may exist
/// at a time. Only the program's own calls are seen, not those inside libc.
class Kernel {
 public:
  explicit Kernel(std::string folder);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  /// The next `times` calls of this name (any, if empty) fail with `error` and have no effect. A pwrite with error 0
  /// writes 0 bytes.
  void fail(const std::string& call, int error, int times = 1);
  /// The next ioctl does nothing and succeeds, as on a file system with clones.
  void clone_works();
  /// Whether all failures requested by fail() have happened.
  bool failed() const;

  std::vector<std::string> calls() const;
  /// How often `call` was made of `path`.
  std::size_t count(const std::string& call, const std::string& path) const;
  /// The place of its first call in calls(), or the number of calls.
  std::size_t place(const std::string& call, const std::string& path) const;
};

}  // namespace titan::test
