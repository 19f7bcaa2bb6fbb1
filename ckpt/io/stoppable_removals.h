#pragma once
// Deletions that end between two files once they are asked to. What is left of a renamed step goes at the next start.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/base/fs.h"

namespace titan::ckpt {

/// Another Fs for deletions alone: once `stopped` is not ok, nothing more is removed, and that is the error. `inner`
/// outlives it.
class StoppableRemovals final : public Fs {
 public:
  StoppableRemovals(Fs& inner, std::function<Status()> stopped) : inner_(inner), stopped_(std::move(stopped)) {}

  Status remove_file(const std::string& path) override {
    TITAN_RETURN_IF_ERROR(stopped_());
    return inner_.remove_file(path);
  }
  Status remove_dir(const std::string& path) override {
    TITAN_RETURN_IF_ERROR(stopped_());
    return inner_.remove_dir(path);
  }

  Result<std::unique_ptr<File>> create(const std::string& path) override { return inner_.create(path); }
  Result<std::unique_ptr<File>> open_read(const std::string& path) override { return inner_.open_read(path); }
  Status make_dir(const std::string& path) override { return inner_.make_dir(path); }
  Status rename(const std::string& from, const std::string& to) override { return inner_.rename(from, to); }
  Status rename_noreplace(const std::string& from, const std::string& to) override {
    return inner_.rename_noreplace(from, to);
  }
  Status sync_dir(const std::string& path) override { return inner_.sync_dir(path); }
  Result<std::vector<DirEntry>> list(const std::string& path) override { return inner_.list(path); }
  Result<FileInfo> stat(const std::string& path) override { return inner_.stat(path); }
  Result<std::uint64_t> free_bytes(const std::string& path) override { return inner_.free_bytes(path); }
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override { return inner_.lock(path); }
  Result<std::string> real_path(const std::string& path) override { return inner_.real_path(path); }

 private:
  Fs& inner_;
  std::function<Status()> stopped_;
};

}  // namespace titan::ckpt
