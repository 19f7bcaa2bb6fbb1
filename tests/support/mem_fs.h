#pragma once
// MemFs: an in-memory file system with the semantics of PosixFs (one conformance suite runs against both).
#include <cstdint>
#include <memory>

#include <span>
#include <string>

#include "ckpt/base/fs.h"

namespace titan::ckpt::testing {

/// Files are sparse (pages of 4 KiB), so that tests may write at terabyte offsets. Paths are taken from "/". Symbolic
/// links on the way of a path are followed, the last name only where PosixFs follows it (list, sync_dir, free_bytes,
/// real_path).
class MemFs final : public Fs {
 public:
  struct Node;   ///< an inode
  struct State;  ///< the tree; shared with open files, which may outlive the MemFs

  /// `capacity`: bytes (in whole pages) that may be stored before writes fail with "disk full".
  explicit MemFs(std::uint64_t capacity = std::uint64_t{1} << 40);
  ~MemFs() override;

  Result<std::unique_ptr<File>> create(const std::string& path) override;
  Result<std::unique_ptr<File>> open_read(const std::string& path) override;
  Result<std::unique_ptr<File>> open_update(const std::string& path) override;
  Result<std::unique_ptr<File>> open_large(const std::string& path) override;
  Status make_dir(const std::string& path) override;
  Status remove_file(const std::string& path) override;
  Status remove_dir(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status rename_noreplace(const std::string& from, const std::string& to) override;
  Status sync_dir(const std::string& path) override;
  Result<std::vector<DirEntry>> list(const std::string& path) override;
  Result<FileInfo> stat(const std::string& path) override;
  Result<std::uint64_t> free_bytes(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;
  Status link(const std::string& from, const std::string& to) override;
  Status exchange(const std::string& a, const std::string& b) override;
  Result<std::string> real_path(const std::string& path) override;

  /// Makes `path` a symbolic link that leads to `target`, which need not be there.
  Status symlink(const std::string& target, const std::string& path);

  /// Damages an existing file without a regular write.
  Status overwrite(const std::string& path, std::uint64_t offset, std::span<const std::byte> data);
  Status resize(const std::string& path, std::uint64_t size);

 private:
  std::shared_ptr<State> state_;
};

}  // namespace titan::ckpt::testing
