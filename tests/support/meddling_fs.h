#pragma once
// MeddlingFs: passes calls on to another Fs and interferes: a bit that flips on its way to the disk, or another process
// that acts between two calls.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "tests/support/files.h"

namespace titan::ckpt::testing {

/// Copies every file below `source` to `target`, as `cp -r` does. Returns false when anything went wrong.
inline bool copy_tree(Fs& from, const std::string& source, Fs& to, const std::string& target) {
  bool copied = true;
  for (const std::string& name : tree(from, source)) {
    if (name.ends_with('/')) continue;
    copied = copied && put_text(to, join_path(target, name), get_text(from, join_path(source, name))).ok();
  }
  return copied;
}

/// Flips bit `bit` (modulo the number of bits) of the data of the k-th write (1-based) to a file whose path contains
/// `path_part`.
struct Flip {
  std::string path_part;
  std::uint64_t k = 0;  ///< 0: none
  std::uint64_t bit = 0;
};

/// For one thread.
class MeddlingFs final : public Fs {
 public:
  explicit MeddlingFs(Fs& inner, Flip flip = {}) : inner_(inner), flip_(std::move(flip)) {}
  /// `act` is called before each call with a path, with its name and path; not from within itself.
  void before_calls(std::function<void(const char* call, const std::string& path)> act) { act_ = std::move(act); }
  std::uint64_t writes() const { return writes_; }  ///< so far, into files that Flip::path_part names
  bool flipped() const { return flip_.k > 0 && writes_ >= flip_.k; }

  Result<std::unique_ptr<File>> create(const std::string& path) override {
    note("create", path);
    TITAN_ASSIGN_OR_RETURN(std::unique_ptr<File> file, inner_.create(path));
    return std::unique_ptr<File>(std::make_unique<Writing>(std::move(file), *this, path));
  }
  Result<std::unique_ptr<File>> open_read(const std::string& path) override {
    note("open", path);
    return inner_.open_read(path);
  }
  Status make_dir(const std::string& path) override {
    note("mkdir", path);
    return inner_.make_dir(path);
  }
  Status remove_file(const std::string& path) override {
    note("unlink", path);
    return inner_.remove_file(path);
  }
  Status remove_dir(const std::string& path) override {
    note("rmdir", path);
    return inner_.remove_dir(path);
  }
  Status rename(const std::string& from, const std::string& to) override {
    note("rename", to);
    return inner_.rename(from, to);
  }
  Status rename_noreplace(const std::string& from, const std::string& to) override {
    note("rename", to);
    return inner_.rename_noreplace(from, to);
  }
  Status sync_dir(const std::string& path) override {
    note("sync", path);
    return inner_.sync_dir(path);
  }
  Result<std::vector<DirEntry>> list(const std::string& path) override {
    note("list", path);
    return inner_.list(path);
  }
  Result<FileInfo> stat(const std::string& path) override {
    note("stat", path);
    return inner_.stat(path);
  }
  Result<std::uint64_t> free_bytes(const std::string& path) override { return inner_.free_bytes(path); }
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override { return inner_.lock(path); }
  Result<std::string> real_path(const std::string& path) override { return inner_.real_path(path); }

 private:
  class Writing final : public File {
   public:
    Writing(std::unique_ptr<File> inner, MeddlingFs& fs, std::string path)
        : inner_(std::move(inner)), fs_(fs), path_(std::move(path)) {}
    Status pread(std::uint64_t offset, std::span<std::byte> out) override { return inner_->pread(offset, out); }
    Status pwrite(std::uint64_t offset, std::span<const std::byte> data) override {
      fs_.note("write", path_);
      const Flip& flip = fs_.flip_;
      if (path_.find(flip.path_part) == std::string::npos || data.empty() || ++fs_.writes_ != flip.k)
        return inner_->pwrite(offset, data);
      std::vector<std::byte> other(data.begin(), data.end());
      const std::uint64_t bit = flip.bit % (8 * other.size());
      other[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
      return inner_->pwrite(offset, other);
    }
    Status truncate(std::uint64_t size) override { return inner_->truncate(size); }
    Result<std::uint64_t> size() override { return inner_->size(); }
    Status datasync() override { return inner_->datasync(); }
    Status set_read_only() override { return inner_->set_read_only(); }
    Status close() override { return inner_->close(); }

   private:
    std::unique_ptr<File> inner_;
    MeddlingFs& fs_;
    std::string path_;
  };

  void note(const char* call, const std::string& path) {
    if (!act_ || std::exchange(acting_, true)) return;
    act_(call, path);
    acting_ = false;
  }

  Fs& inner_;
  Flip flip_;
  std::uint64_t writes_ = 0;
  std::function<void(const char*, const std::string&)> act_;
  bool acting_ = false;
};

}  // namespace titan::ckpt::testing
