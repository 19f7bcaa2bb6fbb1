#include "tests/support/unshared_fs.h"

#include "tests/support/files.h"

namespace titan::ckpt::testing {
namespace {

class UnsharedLock final : public FileLock {
 public:
  UnsharedLock(MemFs& fs, std::string path, LockReach reach) : fs_(fs), path_(std::move(path)), reach_(reach) {}
  LockReach reach() const override { return reach_; }
  Status write(const std::string& text) override {
    TITAN_RETURN_IF_ERROR(fs_.overwrite(path_, 0, std::as_bytes(std::span(text))));
    return fs_.resize(path_, text.size());
  }

 private:
  MemFs& fs_;
  std::string path_;
  LockReach reach_;
};

}  // namespace

Result<std::unique_ptr<FileLock>> UnsharedFs::lock(const std::string& path) {
  if (!inner_.stat(path).ok()) {
    TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<File> made, inner_.create(path));
  }
  if (shared) {
    auto lock = inner_.lock(path);
    if (lock.ok() && on_lock) on_lock(path);
    return lock;
  }
  auto granted = std::make_unique<UnsharedLock>(memory_, path, reach);
  if (on_lock) on_lock(path);
  return std::unique_ptr<FileLock>(std::move(granted));
}

}  // namespace titan::ckpt::testing
