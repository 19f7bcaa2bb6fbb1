#pragma once
// UnsharedFs: a store whose file locks are not visible to other hosts, or which has none: every lock is granted.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/fs_wrapper.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::testing {

class UnsharedFs final : public FsWrapper {
 public:
  explicit UnsharedFs(MemFs& inner) : FsWrapper(inner), memory_(inner) {}

  LockReach reach = LockReach::kUnknown;                 ///< what its locks say of themselves
  bool shared = false;                                   ///< as on an ordinary store: the locks are those of `inner`
  std::function<void(const std::string& path)> on_lock;  ///< called after a lock was granted, before its taker
                                                         ///< continues

  std::function<void(const std::string& path)> on_create;  ///< called before a file is created
  std::function<void(const std::string& path)> on_read;    ///< called before a file is opened to be read

  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;

  Result<std::unique_ptr<File>> create(const std::string& path) override {
    if (on_create) on_create(path);
    return inner_.create(path);
  }
  Result<std::unique_ptr<File>> open_read(const std::string& path) override {
    if (on_read) on_read(path);
    return inner_.open_read(path);
  }

 private:
  MemFs& memory_;
};

}  // namespace titan::ckpt::testing
