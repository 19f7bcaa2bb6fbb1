#include "tests/crash/crash_fs.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "ckpt/base/errno_status.h"

namespace titan::crash {

using ckpt::Code;
using ckpt::errno_status;
using ckpt::FileType;
using ckpt::ok_status;
using ckpt::Result;
using ckpt::Status;
using Kind = LoggedCall::Kind;

struct CrashFs::State {
  Disk disk;
  FsLimits limits;
  bool recording = false;
  std::uint32_t host = 0;
  std::vector<LoggedCall> log;
  std::function<void(std::size_t)> hook;
  std::map<Inode, int> held;  // locks
  std::vector<std::string> granted;
  std::string refused;
  std::string last_words;  // kill_after
  bool dead = false;

  /// A name in a folder; `dir` is kNoInode when the folder is not there.
  struct Place {
    Inode dir = kNoInode, inode = kNoInode;
    std::string name;
  };
  Place place(const std::string& path) const {
    const std::size_t last = path.find_last_not_of('/');
    if (last == std::string::npos) return {kNoInode, kRoot, ""};
    const std::string clean = path.substr(0, last + 1);
    const std::size_t slash = clean.rfind('/');
    Place at;
    at.name = slash == std::string::npos ? clean : clean.substr(slash + 1);
    const Inode dir = slash == std::string::npos ? kRoot : disk.find(clean.substr(0, slash));
    if (dir == kNoInode || !disk.node(dir).folder()) return at;
    at.dir = dir;
    if (const auto found = disk.names(dir).find(at.name); found != disk.names(dir).end()) at.inode = found->second;
    return at;
  }

  bool folder(Inode inode) const { return inode != kNoInode && disk.node(inode).folder(); }

  /// The hook may change the disk: call it before anything is looked up.
  Status enter() {
    if (dead) return ckpt::failed("this process is dead");
    if (!recording || !hook) return ok_status();
    const std::function<void(std::size_t)> call = std::exchange(hook, nullptr);
    recording = false;
    call(log.size());
    recording = true;
    hook = call;
    return ok_status();
  }

  void keep(LoggedCall call) {
    if (!last_words.empty() && call.text.starts_with(last_words)) dead = true;
    log.push_back(std::move(call));
  }

  void note(Kind kind, Inode inode, std::uint64_t offset, std::string text,
            std::shared_ptr<const std::string> data = {}, std::shared_ptr<Blob> synced = {}) {
    if (!recording) return;
    LoggedCall call;
    call.kind = kind;
    call.inode = inode;
    call.offset = offset;
    call.host = host;
    call.data = std::move(data);
    call.synced = std::move(synced);
    call.text = std::move(text);
    keep(std::move(call));
  }

  void names(std::string text, std::vector<NameEffect> effects, bool rename = false) {
    for (const NameEffect& effect : effects) {
      Names& names = disk.edit_names(effect.dir);
      if (effect.target == kNoInode)
        names.erase(effect.name);
      else
        names[effect.name] = effect.target;
    }
    if (!recording) return;
    LoggedCall call;
    call.kind = Kind::kName;
    call.host = host;
    call.effects = std::move(effects);
    call.rename = rename;
    call.text = std::move(text);
    keep(std::move(call));
  }

  void write(Inode file, const std::string& path, std::uint64_t offset, std::span<const std::byte> data) {
    const std::string text(reinterpret_cast<const char*>(data.data()), data.size());
    std::string& bytes = disk.edit_bytes(file);
    if (bytes.size() < offset + text.size()) bytes.resize(offset + text.size());
    std::memcpy(bytes.data() + offset, text.data(), text.size());
    note(Kind::kWrite, file, offset, "write " + path + " at " + std::to_string(offset),
         std::make_shared<const std::string>(text));
  }

  void truncate(Inode file, const std::string& path, std::uint64_t size) {
    disk.edit_bytes(file).resize(size);
    note(Kind::kTruncate, file, size, "truncate " + path + " to " + std::to_string(size));
  }
};

namespace {

Status missing(const std::string& path, const std::string& call) {
  Status status = errno_status(ENOENT, path, call);
  status.code = Code::kNotFound;
  return status;
}

class CrashFile final : public ckpt::File {
 public:
  CrashFile(std::shared_ptr<CrashFs::State> state, Inode inode, std::string path, bool writable)
      : state_(std::move(state)), inode_(inode), path_(std::move(path)), writable_(writable) {}

  Status pread(std::uint64_t offset, std::span<std::byte> out) override {
    const std::string& bytes = state_->disk.bytes(inode_);
    if (offset > bytes.size() || out.size() > bytes.size() - offset)
      return ckpt::corrupt(path_ + ": expected bytes up to " + std::to_string(offset + out.size()) +
                           ", the file ends at " + std::to_string(bytes.size()));
    if (!out.empty()) std::memcpy(out.data(), bytes.data() + offset, out.size());
    return ok_status();
  }
  Status pwrite(std::uint64_t offset, std::span<const std::byte> data) override {
    if (!writable_ || closed_) return errno_status(EBADF, path_, "pwrite");
    TITAN_RETURN_IF_ERROR(state_->enter());
    state_->write(inode_, path_, offset, data);
    return ok_status();
  }
  Status truncate(std::uint64_t size) override {
    if (!writable_ || closed_) return errno_status(EINVAL, path_, "ftruncate");
    TITAN_RETURN_IF_ERROR(state_->enter());
    state_->truncate(inode_, path_, size);
    return ok_status();
  }
  Result<std::uint64_t> size() override { return state_->disk.bytes(inode_).size(); }
  Status datasync() override {
    if (closed_) return errno_status(EBADF, path_, "fdatasync");
    TITAN_RETURN_IF_ERROR(state_->enter());
    state_->note(Kind::kSyncFile, inode_, 0, "sync file " + path_, {}, state_->disk.blob(inode_));
    return ok_status();
  }
  Status close() override {
    if (closed_) return ckpt::failed(path_ + ": close: already closed");
    closed_ = true;
    return ok_status();
  }

 private:
  std::shared_ptr<CrashFs::State> state_;
  Inode inode_;
  std::string path_;
  bool writable_, closed_ = false;
};

class CrashLock final : public ckpt::FileLock {
 public:
  CrashLock(std::shared_ptr<CrashFs::State> state, Inode inode, std::string path)
      : state_(std::move(state)), inode_(inode), path_(std::move(path)) {
    ++state_->held[inode_];
  }
  ~CrashLock() override { --state_->held[inode_]; }
  Status write(const std::string& text) override {
    TITAN_RETURN_IF_ERROR(state_->enter());
    state_->truncate(inode_, path_, 0);
    state_->write(inode_, path_, 0, std::as_bytes(std::span(text)));
    return ok_status();
  }

 private:
  std::shared_ptr<CrashFs::State> state_;
  Inode inode_;
  std::string path_;
};

}  // namespace

CrashFs::CrashFs(Disk disk, FsLimits limits) : state_(std::make_shared<State>()) {
  state_->disk = std::move(disk);
  state_->limits = limits;
}
CrashFs::~CrashFs() = default;

void CrashFs::record() { state_->recording = true; }
void CrashFs::mark(const std::string& text) { state_->note(Kind::kMark, kNoInode, 0, text); }
void CrashFs::act_as(std::uint32_t host) { state_->host = host; }
const std::vector<LoggedCall>& CrashFs::log() const { return state_->log; }
const Disk& CrashFs::disk() const { return state_->disk; }
void CrashFs::refuse_creation(std::string suffix) { state_->refused = std::move(suffix); }
bool CrashFs::refuses() const { return !state_->refused.empty(); }
void CrashFs::kill_after(std::string call) { state_->last_words = std::move(call); }
void CrashFs::revive() {
  state_->dead = false;
  state_->last_words.clear();
}
bool CrashFs::killed() const { return state_->dead; }
void CrashFs::damage(const std::string& path, bool size) {
  std::string& bytes = state_->disk.edit_bytes(state_->disk.find(path));
  if (size)
    bytes += '!';
  else
    bytes[bytes.size() / 2] ^= 1;
}
void CrashFs::before_call(std::function<void(std::size_t)> hook) { state_->hook = std::move(hook); }
void CrashFs::grant_locks(std::string suffix) { state_->granted.push_back(std::move(suffix)); }

Result<std::unique_ptr<ckpt::File>> CrashFs::create(const std::string& path) {
  TITAN_RETURN_IF_ERROR(state_->enter());
  const State::Place at = state_->place(path);
  if (!state_->refused.empty() && path.ends_with(state_->refused)) return errno_status(EACCES, path, "create");
  if (at.inode != kNoInode) return errno_status(EEXIST, path, "create");
  if (at.dir == kNoInode) return missing(path, "create");
  const Inode file = state_->disk.add_file();
  state_->names("create " + path, {{at.dir, at.name, file}});
  return std::unique_ptr<ckpt::File>(std::make_unique<CrashFile>(state_, file, path, true));
}

Result<std::unique_ptr<ckpt::File>> CrashFs::open_large(const std::string& path) {
  const Inode inode = state_->place(path).inode;
  if (inode == kNoInode) return missing(path, "open for writing");
  if (state_->folder(inode)) return ckpt::failed(path + ": open for writing: expected a regular file");
  return std::unique_ptr<ckpt::File>(std::make_unique<CrashFile>(state_, inode, path, true));
}

Result<std::unique_ptr<ckpt::File>> CrashFs::open_read(const std::string& path) {
  const Inode inode = state_->place(path).inode;
  if (inode == kNoInode) return missing(path, "open");
  if (state_->folder(inode)) return ckpt::failed(path + ": open: expected a regular file");
  return std::unique_ptr<ckpt::File>(std::make_unique<CrashFile>(state_, inode, path, false));
}

Status CrashFs::make_dir(const std::string& path) {
  TITAN_RETURN_IF_ERROR(state_->enter());
  const State::Place at = state_->place(path);
  if (at.inode != kNoInode) return errno_status(EEXIST, path, "mkdir");
  if (at.dir == kNoInode) return errno_status(ENOENT, path, "mkdir");
  const Inode folder = state_->disk.add_folder();
  state_->names("mkdir " + path, {{at.dir, at.name, folder}});
  return ok_status();
}

Status CrashFs::remove_file(const std::string& path) {
  TITAN_RETURN_IF_ERROR(state_->enter());
  const State::Place at = state_->place(path);
  if (at.inode == kNoInode) return missing(path, "unlink");
  if (state_->folder(at.inode)) return errno_status(EISDIR, path, "unlink");
  state_->names("unlink " + path, {{at.dir, at.name, kNoInode}});
  return ok_status();
}

Status CrashFs::remove_dir(const std::string& path) {
  TITAN_RETURN_IF_ERROR(state_->enter());
  const State::Place at = state_->place(path);
  if (at.inode == kNoInode) return missing(path, "rmdir");
  if (!state_->folder(at.inode)) return errno_status(ENOTDIR, path, "rmdir");
  if (!state_->disk.names(at.inode).empty()) return errno_status(ENOTEMPTY, path, "rmdir");
  state_->names("rmdir " + path, {{at.dir, at.name, kNoInode}});
  return ok_status();
}

Status CrashFs::rename(const std::string& from, const std::string& to) {
  TITAN_RETURN_IF_ERROR(state_->enter());
  const State::Place source = state_->place(from), target = state_->place(to);
  const std::string call = "rename to " + to;
  if (source.inode == kNoInode || target.dir == kNoInode) return missing(from, call);
  if (source.inode == target.inode) return ok_status();
  if (state_->folder(target.inode)) {
    if (!state_->folder(source.inode)) return errno_status(EISDIR, from, call);
    if (!state_->disk.names(target.inode).empty()) return errno_status(ENOTEMPTY, from, call);
  } else if (target.inode != kNoInode && state_->folder(source.inode)) {
    return errno_status(ENOTDIR, from, call);
  }
  state_->names("rename " + from + " to " + to,
                {{source.dir, source.name, kNoInode}, {target.dir, target.name, source.inode}}, true);
  return ok_status();
}

Status CrashFs::rename_noreplace(const std::string& from, const std::string& to) {
  TITAN_RETURN_IF_ERROR(state_->enter());
  const State::Place source = state_->place(from), target = state_->place(to);
  if (source.inode == kNoInode || target.dir == kNoInode) return missing(from, "rename to " + to);
  if (target.inode != kNoInode) return ckpt::failed(from + ": rename to " + to + ": the target exists");
  state_->names("rename " + from + " to " + to,
                {{source.dir, source.name, kNoInode}, {target.dir, target.name, source.inode}}, true);
  return ok_status();
}

Status CrashFs::sync_dir(const std::string& path) {
  TITAN_RETURN_IF_ERROR(state_->enter());
  const Inode inode = state_->place(path).inode;
  if (!state_->folder(inode)) return errno_status(inode == kNoInode ? ENOENT : ENOTDIR, path, "open for fsync");
  state_->note(Kind::kSyncDir, inode, 0, "sync folder " + path);
  return ok_status();
}

Result<std::vector<ckpt::DirEntry>> CrashFs::list(const std::string& path) {
  const Inode inode = state_->place(path).inode;
  if (inode == kNoInode) return missing(path, "opendir");
  if (!state_->folder(inode)) return errno_status(ENOTDIR, path, "opendir");
  std::vector<ckpt::DirEntry> entries;
  for (const auto& [name, child] : state_->disk.names(inode))
    entries.push_back({name, state_->folder(child) ? FileType::kDirectory : FileType::kFile});
  return entries;
}

Result<ckpt::FileInfo> CrashFs::stat(const std::string& path) {
  const Inode inode = state_->place(path).inode;
  if (inode == kNoInode) return missing(path, "lstat");
  ckpt::FileInfo info;
  info.type = state_->folder(inode) ? FileType::kDirectory : FileType::kFile;
  info.size = state_->folder(inode) ? 0 : state_->disk.bytes(inode).size();
  info.allocated = info.size;
  info.mtime_ns = 1;
  info.device = 1;
  info.inode = inode + 1;
  return info;
}

Result<std::uint64_t> CrashFs::free_bytes(const std::string& path) {
  if (state_->place(path).inode == kNoInode) return missing(path, "statvfs");
  return std::uint64_t{1} << 40;
}

Result<std::unique_ptr<ckpt::FileLock>> CrashFs::lock(const std::string& path) {
  TITAN_RETURN_IF_ERROR(state_->enter());
  const State::Place at = state_->place(path);
  if (at.dir == kNoInode) return errno_status(ENOENT, path, "open of the lock");
  Inode inode = at.inode;
  if (inode == kNoInode) {
    inode = state_->disk.add_file();
    state_->names("create lock " + path, {{at.dir, at.name, inode}});
  }
  if (state_->folder(inode)) return errno_status(EISDIR, path, "open of the lock");
  const bool granted = std::any_of(state_->granted.begin(), state_->granted.end(),
                                   [&](const std::string& suffix) { return path.ends_with(suffix); });
  if (state_->held[inode] > 0 && !granted) {
    Status status = ckpt::locked(path + ": locked by another process");
    status.causes.push_back(state_->disk.bytes(inode));
    return status;
  }
  return std::unique_ptr<ckpt::FileLock>(std::make_unique<CrashLock>(state_, inode, path));
}

Status CrashFs::link(const std::string& from, const std::string& to) {
  if (!state_->limits.link) return ckpt::unsupported(from + ": link to " + to + ": not permitted here");
  TITAN_RETURN_IF_ERROR(state_->enter());
  const State::Place source = state_->place(from), target = state_->place(to);
  const std::string call = "link to " + to;
  if (source.inode == kNoInode || target.dir == kNoInode) return missing(from, call);
  if (target.inode != kNoInode) return errno_status(EEXIST, from, call);
  if (state_->folder(source.inode)) {
    Status status = errno_status(EPERM, from, call);
    status.code = Code::kUnsupported;
    return status;
  }
  state_->names("link " + from + " to " + to, {{target.dir, target.name, source.inode}});
  return ok_status();
}

Status CrashFs::exchange(const std::string& a, const std::string& b) {
  if (!state_->limits.exchange) return ckpt::unsupported(a + ": exchange with " + b + ": not offered here");
  TITAN_RETURN_IF_ERROR(state_->enter());
  const State::Place first = state_->place(a), second = state_->place(b);
  if (first.inode == kNoInode || second.inode == kNoInode)
    return missing(first.inode == kNoInode ? a : b, "exchange with " + b);
  state_->names("exchange " + a + " with " + b,
                {{first.dir, first.name, second.inode}, {second.dir, second.name, first.inode}}, true);
  return ok_status();
}

}  // namespace titan::crash
