#include "tests/support/failing_fs.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "ckpt/base/errno_status.h"
#include "ckpt/base/fs_posix.h"
#include "ckpt/base/path.h"

namespace titan::ckpt::testing {

const char* op_name(Op op) {
  static constexpr const char* kNames[] = {
      "create",           "open_read", "pread",    "pwrite",      "truncate",   "size",
      "datasync",         "close",     "make_dir", "remove_file", "remove_dir", "rename",
      "rename_noreplace", "sync_dir",  "list",     "stat",        "free_bytes", "lock",
      "lock_write",       "link",      "reflink",  "exchange",    "real_path",  "set_read_only"};
  return kNames[static_cast<std::size_t>(op)];
}

// Those whose EIO PosixFs calls a media error.
static bool reads(Op op) {
  return op == Op::kOpenRead || op == Op::kPread || op == Op::kSize || op == Op::kList || op == Op::kStat ||
         op == Op::kRealPath;
}

struct FailingFs::State {
  mutable std::mutex mutex;
  std::optional<Fault> fault;
  std::uint64_t matched = 0;
  bool fired = false;
  std::vector<Call> calls;
  std::uint64_t bytes_read = 0;
  std::set<std::string> lost;  // paths whose datasync failed
  bool synced_again = false;

  /// Notes the call; returns the fault's status when its turn has come.
  Status enter(Op op, const std::string& path, std::uint64_t* written_before = nullptr, std::uint64_t offset = 0,
               std::uint64_t bytes = 0) {
    std::lock_guard guard(mutex);
    calls.push_back({op, path});
    if (op == Op::kPread) bytes_read += bytes;
    if (op == Op::kCreate) lost.erase(path);  // a new inode under an old name
    if (op == Op::kDatasync && lost.contains(path)) synced_again = true;
    if (!fault || (fault->op && *fault->op != op) || path.find(fault->path_part) == std::string::npos)
      return ok_status();
    if (fault->touching && (*fault->touching < offset || *fault->touching - offset >= bytes)) return ok_status();
    ++matched;
    if (fault->repeat == Repeat::kOnce ? matched != fault->k : matched < fault->k) return ok_status();
    fired = true;
    if (op == Op::kDatasync) lost.insert(path);
    if (written_before) *written_before = fault->written_before;
    if (fault->status) return *fault->status;
    return reads(op) ? read_errno_status(fault->error, path, op_name(op))
                     : errno_status(fault->error, path, op_name(op));
  }

  /// Whether the call that fails is carried out.
  bool done() const {
    std::lock_guard guard(mutex);
    return fault && fault->done;
  }
};

namespace {

class FailingFile final : public File {
 public:
  FailingFile(std::shared_ptr<FailingFs::State> state, std::unique_ptr<File> inner, std::string path)
      : state_(std::move(state)), inner_(std::move(inner)), path_(std::move(path)) {}

  Status pread(std::uint64_t offset, std::span<std::byte> out) override {
    TITAN_RETURN_IF_ERROR(state_->enter(Op::kPread, path_, nullptr, offset, out.size()));
    return inner_->pread(offset, out);
  }
  Status pwrite(std::uint64_t offset, std::span<const std::byte> data) override {
    std::uint64_t keep = 0;
    Status status = state_->enter(Op::kPwrite, path_, &keep);
    if (status.ok()) return inner_->pwrite(offset, data);
    if (keep > 0) {
      Status torn =
          inner_->pwrite(offset, data.first(static_cast<std::size_t>(std::min<std::uint64_t>(keep, data.size()))));
      if (!torn.ok()) return torn;
    }
    return status;
  }
  Status truncate(std::uint64_t size) override {
    TITAN_RETURN_IF_ERROR(state_->enter(Op::kTruncate, path_));
    return inner_->truncate(size);
  }
  Result<std::uint64_t> size() override {
    TITAN_RETURN_IF_ERROR(state_->enter(Op::kSize, path_));
    return inner_->size();
  }
  Status datasync() override {
    TITAN_RETURN_IF_ERROR(state_->enter(Op::kDatasync, path_));
    return inner_->datasync();
  }
  Status set_read_only() override {
    TITAN_RETURN_IF_ERROR(state_->enter(Op::kSetReadOnly, path_));
    return inner_->set_read_only();
  }
  Status close() override {
    Status injected = state_->enter(Op::kClose, path_);
    Status real = inner_->close();
    return injected.ok() ? real : injected;
  }

 private:
  std::shared_ptr<FailingFs::State> state_;
  std::unique_ptr<File> inner_;
  std::string path_;
};

class FailingLock final : public FileLock {
 public:
  FailingLock(std::shared_ptr<FailingFs::State> state, std::unique_ptr<FileLock> inner, std::string path)
      : state_(std::move(state)), inner_(std::move(inner)), path_(std::move(path)) {}
  LockReach reach() const override { return inner_->reach(); }
  Status write(const std::string& text) override {
    TITAN_RETURN_IF_ERROR(state_->enter(Op::kLockWrite, path_));
    return inner_->write(text);
  }

 private:
  std::shared_ptr<FailingFs::State> state_;
  std::unique_ptr<FileLock> inner_;
  std::string path_;
};

}  // namespace

FailingFs::FailingFs(Fs& inner) : inner_(inner), state_(std::make_shared<State>()) {}
FailingFs::~FailingFs() = default;

void FailingFs::arm(Fault fault) {
  std::lock_guard guard(state_->mutex);
  state_->fault = std::move(fault);
  state_->matched = 0;
  state_->fired = false;
}

void FailingFs::disarm() {
  std::lock_guard guard(state_->mutex);
  state_->fault.reset();
}

bool FailingFs::fired() const {
  std::lock_guard guard(state_->mutex);
  return state_->fired;
}

std::vector<Call> FailingFs::calls() const {
  std::lock_guard guard(state_->mutex);
  return state_->calls;
}

std::uint64_t FailingFs::count(Op op) const {
  std::lock_guard guard(state_->mutex);
  auto same = [op](const Call& call) { return call.op == op; };
  return static_cast<std::uint64_t>(std::count_if(state_->calls.begin(), state_->calls.end(), same));
}

void FailingFs::clear_calls() {
  std::lock_guard guard(state_->mutex);
  state_->calls.clear();
  state_->bytes_read = 0;
}

std::uint64_t FailingFs::bytes_read() const {
  std::lock_guard guard(state_->mutex);
  return state_->bytes_read;
}

bool FailingFs::synced_after_failure() const {
  std::lock_guard guard(state_->mutex);
  return state_->synced_again;
}

Result<std::unique_ptr<File>> FailingFs::create(const std::string& path) {
  TITAN_RETURN_IF_ERROR(state_->enter(Op::kCreate, path));
  TITAN_ASSIGN_OR_RETURN(std::unique_ptr<File> file, inner_.create(path));
  return std::unique_ptr<File>(std::make_unique<FailingFile>(state_, std::move(file), path));
}

Result<std::unique_ptr<File>> FailingFs::open_update(const std::string& path) {
  TITAN_RETURN_IF_ERROR(state_->enter(Op::kCreate, path));
  TITAN_ASSIGN_OR_RETURN(std::unique_ptr<File> file, inner_.open_update(path));
  return std::unique_ptr<File>(std::make_unique<FailingFile>(state_, std::move(file), path));
}

Result<std::unique_ptr<File>> FailingFs::open_large(const std::string& path) {
  TITAN_RETURN_IF_ERROR(state_->enter(Op::kOpenRead, path));
  TITAN_ASSIGN_OR_RETURN(std::unique_ptr<File> file, inner_.open_large(path));
  return std::unique_ptr<File>(std::make_unique<FailingFile>(state_, std::move(file), path));
}

Result<std::unique_ptr<File>> FailingFs::open_read(const std::string& path) {
  TITAN_RETURN_IF_ERROR(state_->enter(Op::kOpenRead, path));
  TITAN_ASSIGN_OR_RETURN(std::unique_ptr<File> file, inner_.open_read(path));
  return std::unique_ptr<File>(std::make_unique<FailingFile>(state_, std::move(file), path));
}

Result<std::unique_ptr<File>> FailingFs::open_member(const std::string& folder, const std::string& member,
                                                     Access access) {
  const std::string path = join_path(folder, member);
  TITAN_RETURN_IF_ERROR(state_->enter(Op::kOpenRead, path));
  TITAN_ASSIGN_OR_RETURN(std::unique_ptr<File> file, inner_.open_member(folder, member, access));
  return std::unique_ptr<File>(std::make_unique<FailingFile>(state_, std::move(file), path));
}

Result<FileInfo> FailingFs::stat_member(const std::string& folder, const std::string& member) {
  TITAN_RETURN_IF_ERROR(state_->enter(Op::kStat, join_path(folder, member)));
  return inner_.stat_member(folder, member);
}

Status FailingFs::make_dir(const std::string& path) {
  if (Status injected = state_->enter(Op::kMakeDir, path); !injected.ok()) {
    if (state_->done()) (void)inner_.make_dir(path);
    return injected;
  }
  return inner_.make_dir(path);
}

Status FailingFs::remove_file(const std::string& path) {
  TITAN_RETURN_IF_ERROR(state_->enter(Op::kRemoveFile, path));
  return inner_.remove_file(path);
}

Status FailingFs::remove_dir(const std::string& path) {
  TITAN_RETURN_IF_ERROR(state_->enter(Op::kRemoveDir, path));
  return inner_.remove_dir(path);
}

Status FailingFs::rename(const std::string& from, const std::string& to) {
  if (Status injected = state_->enter(Op::kRename, from); !injected.ok()) {
    if (state_->done()) (void)inner_.rename(from, to);
    return injected;
  }
  return inner_.rename(from, to);
}

Status FailingFs::rename_noreplace(const std::string& from, const std::string& to) {
  if (Status injected = state_->enter(Op::kRenameNoReplace, from); !injected.ok()) {
    if (state_->done()) (void)inner_.rename_noreplace(from, to);
    return injected;
  }
  return inner_.rename_noreplace(from, to);
}

Status FailingFs::sync_dir(const std::string& path) {
  TITAN_RETURN_IF_ERROR(state_->enter(Op::kSyncDir, path));
  return inner_.sync_dir(path);
}

Result<std::vector<DirEntry>> FailingFs::list(const std::string& path) {
  TITAN_RETURN_IF_ERROR(state_->enter(Op::kList, path));
  return inner_.list(path);
}

Result<FileInfo> FailingFs::stat(const std::string& path) {
  TITAN_RETURN_IF_ERROR(state_->enter(Op::kStat, path));
  return inner_.stat(path);
}

Result<std::uint64_t> FailingFs::free_bytes(const std::string& path) {
  TITAN_RETURN_IF_ERROR(state_->enter(Op::kFreeBytes, path));
  return inner_.free_bytes(path);
}

Result<std::unique_ptr<FileLock>> FailingFs::lock(const std::string& path) {
  TITAN_RETURN_IF_ERROR(state_->enter(Op::kLock, path));
  TITAN_ASSIGN_OR_RETURN(std::unique_ptr<FileLock> lock, inner_.lock(path));
  return std::unique_ptr<FileLock>(std::make_unique<FailingLock>(state_, std::move(lock), path));
}

Status FailingFs::link(const std::string& from, const std::string& to) {
  TITAN_RETURN_IF_ERROR(state_->enter(Op::kLink, from));
  return inner_.link(from, to);
}

Status FailingFs::reflink(const std::string& from, const std::string& to) {
  TITAN_RETURN_IF_ERROR(state_->enter(Op::kReflink, from));
  return inner_.reflink(from, to);
}

Status FailingFs::exchange(const std::string& a, const std::string& b) {
  TITAN_RETURN_IF_ERROR(state_->enter(Op::kExchange, a));
  return inner_.exchange(a, b);
}

Result<std::string> FailingFs::real_path(const std::string& path) {
  TITAN_RETURN_IF_ERROR(state_->enter(Op::kRealPath, path));
  return inner_.real_path(path);
}

}  // namespace titan::ckpt::testing
