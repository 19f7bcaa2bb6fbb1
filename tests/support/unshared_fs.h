#pragma once
// UnsharedFs: a store whose file locks are not visible to other hosts, or which has none: every lock is granted.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/mem_fs.h"

namespace titan::ckpt::testing {

class UnsharedFs final : public Fs {
 public:
  explicit UnsharedFs(MemFs& inner) : inner_(inner) {}

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
  Result<std::unique_ptr<File>> open_large(const std::string& path) override { return inner_.open_large(path); }
  Result<std::unique_ptr<File>> open_read(const std::string& path) override {
    if (on_read) on_read(path);
    return inner_.open_read(path);
  }
  Status make_dir(const std::string& path) override { return inner_.make_dir(path); }
  Status remove_file(const std::string& path) override { return inner_.remove_file(path); }
  Status remove_dir(const std::string& path) override { return inner_.remove_dir(path); }
  Status rename(const std::string& from, const std::string& to) override { return inner_.rename(from, to); }
  Status rename_noreplace(const std::string& from, const std::string& to) override {
    return inner_.rename_noreplace(from, to);
  }
  Status sync_dir(const std::string& path) override { return inner_.sync_dir(path); }
  Result<std::vector<DirEntry>> list(const std::string& path) override { return inner_.list(path); }
  Result<FileInfo> stat(const std::string& path) override { return inner_.stat(path); }
  Result<std::uint64_t> free_bytes(const std::string& path) override { return inner_.free_bytes(path); }
  Status link(const std::string& from, const std::string& to) override { return inner_.link(from, to); }
  Status exchange(const std::string& a, const std::string& b) override { return inner_.exchange(a, b); }
  Result<std::string> real_path(const std::string& path) override { return inner_.real_path(path); }

 private:
  MemFs& inner_;
};

}  // namespace titan::ckpt::testing
