#pragma once
// FsWrapper: passes every call on to another Fs. A derived class overrides the calls that it changes.
#include <memory>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"

namespace titan::ckpt::testing {

/// Calls that Fs makes of others (create_large, open_scan, open_member, stat_member) stay so: a class that overrides
/// open_read sees every opening of a file.
class FsWrapper : public Fs {
 public:
  explicit FsWrapper(Fs& inner) : inner_(inner) {}

  Result<std::unique_ptr<File>> create(const std::string& path) override { return inner_.create(path); }
  Result<std::unique_ptr<File>> open_large(const std::string& path) override { return inner_.open_large(path); }
  Result<std::unique_ptr<File>> open_read(const std::string& path) override { return inner_.open_read(path); }
  Result<std::unique_ptr<File>> open_update(const std::string& path) override { return inner_.open_update(path); }
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
  Status may_write(const std::string& path) override { return inner_.may_write(path); }
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override { return inner_.lock(path); }
  Status link(const std::string& from, const std::string& to) override { return inner_.link(from, to); }
  Status reflink(const std::string& from, const std::string& to) override { return inner_.reflink(from, to); }
  Status exchange(const std::string& a, const std::string& b) override { return inner_.exchange(a, b); }
  Result<std::string> real_path(const std::string& path) override { return inner_.real_path(path); }

 protected:
  Fs& inner_;
};

}  // namespace titan::ckpt::testing
