#pragma once
// ReadOnlyFs: a file system that refuses every call that writes.
#include <memory>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"

namespace titan::ckpt {

/// An Fs whose derived class says how files are read. \error kFailed for a call that would write, take a lock, or ask
/// for room
class ReadOnlyFs : public Fs {
 public:
  Result<std::unique_ptr<File>> create(const std::string& path) override { return refused(path); }
  Status make_dir(const std::string& path) override { return refused(path); }
  Status remove_file(const std::string& path) override { return refused(path); }
  Status remove_dir(const std::string& path) override { return refused(path); }
  Status rename(const std::string& from, const std::string&) override { return refused(from); }
  Status rename_noreplace(const std::string& from, const std::string&) override { return refused(from); }
  Status sync_dir(const std::string& path) override { return refused(path); }
  Result<std::uint64_t> free_bytes(const std::string& path) override { return refused(path); }
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override { return refused(path); }

 private:
  static Status refused(const std::string& path) { return failed(path + ": opened for reading alone"); }
};

}  // namespace titan::ckpt
