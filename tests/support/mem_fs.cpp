#include "tests/support/mem_fs.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

#include "ckpt/base/errno_status.h"

namespace titan::ckpt::testing {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr int kMostLinks = 40;
using Page = std::array<std::byte, kPage>;

Status missing(const std::string& path, const char* call) {
  Status status = errno_status(ENOENT, path, call);
  status.code = Code::kNotFound;
  return status;
}

}  // namespace

struct MemFs::Node {
  FileType type = FileType::kFile;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  bool locked = false;
  bool writable = true;
  std::uint64_t names = 0;              // that lead here
  std::string target;                   // of a symbolic link
  std::map<std::uint64_t, Page> pages;  // a page that is not there reads as zeros
  std::map<std::string, std::shared_ptr<Node>> children;
};

struct MemFs::State {
  std::mutex mutex;
  std::shared_ptr<Node> root = std::make_shared<Node>();
  std::uint64_t capacity = 0;
  std::shared_ptr<std::uint64_t> used = std::make_shared<std::uint64_t>(0);
  std::int64_t clock_ns = 1'700'000'000'000'000'000;

  /// A name in a directory; `dir` is null when the directory is not there.
  struct Place {
    std::shared_ptr<Node> dir;
    std::string name;
    std::shared_ptr<Node> node() const {
      if (!dir || dir->type != FileType::kDirectory) return nullptr;
      if (name.empty()) return dir;
      auto found = dir->children.find(name);
      return found == dir->children.end() ? nullptr : found->second;
    }
    bool has_dir() const { return dir && dir->type == FileType::kDirectory; }
    void put(const std::shared_ptr<Node>& node) const {
      take();
      dir->children[name] = node;
      ++node->names;
    }
    void take() const {
      if (const std::shared_ptr<Node> old = node()) --old->names;
      dir->children.erase(name);
    }
  };

  enum class Last { kKept, kFollowed };  // a link that is the last name

  // `real`: gets the names from the root on.
  Place place(const std::string& path, Last last = Last::kKept, std::vector<std::string>* real = nullptr) {
    std::vector<Place> way{{root, ""}};
    std::vector<std::string> ahead = parts_backwards(path);
    for (int links = 0; !ahead.empty();) {
      const std::string part = ahead.back();
      ahead.pop_back();
      if (part == "..") {
        if (way.size() > 1) way.pop_back();
        continue;
      }
      const Place at{way.back().node(), part};
      const std::shared_ptr<Node> node = at.node();
      if (node && node->type == FileType::kLink && (!ahead.empty() || last == Last::kFollowed)) {
        if (++links > kMostLinks) return {};
        for (std::string& name : parts_backwards(node->target)) ahead.push_back(std::move(name));
        if (node->target.starts_with('/')) way.resize(1);
        continue;
      }
      way.push_back(at);
    }
    if (real)
      for (std::size_t i = 1; i < way.size(); ++i) real->push_back(way[i].name);
    return way.back();
  }

  static std::vector<std::string> parts_backwards(const std::string& path) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      const std::string part = path.substr(begin, end - begin);
      begin = end + 1;
      if (!part.empty() && part != ".") parts.push_back(part);
    }
    std::reverse(parts.begin(), parts.end());
    return parts;
  }

  void touch(Node& node) { node.mtime_ns = clock_ns += 1000; }

  void set_size(Node& node, std::uint64_t size) {
    if (size < node.size) {
      for (auto page = node.pages.lower_bound((size + kPage - 1) / kPage); page != node.pages.end();) {
        page = node.pages.erase(page);
        *used -= kPage;
      }
      if (auto last = node.pages.find(size / kPage); last != node.pages.end())
        std::fill(last->second.begin() + static_cast<std::ptrdiff_t>(size % kPage), last->second.end(), std::byte{0});
    }
    node.size = size;
    touch(node);
  }

  Status write(Node& node, const std::string& path, std::uint64_t offset, std::span<const std::byte> data) {
    while (!data.empty()) {
      const std::uint64_t in_page = offset % kPage;
      const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(data.size(), kPage - in_page));
      auto page = node.pages.find(offset / kPage);
      if (page == node.pages.end()) {
        if (*used + kPage > capacity) return errno_status(ENOSPC, path, "pwrite");
        *used += kPage;
        page = node.pages.emplace(offset / kPage, Page{}).first;
      }
      std::memcpy(page->second.data() + in_page, data.data(), count);
      offset += count;
      node.size = std::max(node.size, offset);
      data = data.subspan(count);
    }
    touch(node);
    return ok_status();
  }

  Status read(const Node& node, const std::string& path, std::uint64_t offset, std::span<std::byte> out) const {
    if (offset > node.size || out.size() > node.size - offset)
      return corrupt(path + ": expected bytes up to " + std::to_string(offset + out.size()) + ", the file ends at " +
                     std::to_string(node.size));
    while (!out.empty()) {
      const std::uint64_t in_page = offset % kPage;
      const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), kPage - in_page));
      auto page = node.pages.find(offset / kPage);
      if (page == node.pages.end()) {
        std::fill_n(out.begin(), count, std::byte{0});
      } else {
        std::memcpy(out.data(), page->second.data() + in_page, count);
      }
      offset += count;
      out = out.subspan(count);
    }
    return ok_status();
  }

  /// Makes a node whose pages are given back when the last name and the last open file are gone.
  std::shared_ptr<Node> make_node(FileType type) {
    std::shared_ptr<Node> node(new Node, [used = used](Node* gone) {
      *used -= kPage * gone->pages.size();
      delete gone;
    });
    node->type = type;
    touch(*node);
    return node;
  }
};

namespace {

using State = MemFs::State;
using Node = MemFs::Node;

enum class Mode { kRead, kReadWrite };

class MemFile final : public File {
 public:
  MemFile(std::shared_ptr<State> state, std::shared_ptr<Node> node, std::string path, Mode mode)
      : state_(std::move(state)), node_(std::move(node)), path_(std::move(path)), mode_(mode) {}
  ~MemFile() override {
    std::lock_guard guard(state_->mutex);
    node_.reset();
  }

  Status pread(std::uint64_t offset, std::span<std::byte> out) override {
    std::lock_guard guard(state_->mutex);
    if (!node_) return errno_status(EBADF, path_, "pread");
    return state_->read(*node_, path_, offset, out);
  }
  Status pwrite(std::uint64_t offset, std::span<const std::byte> data) override {
    std::lock_guard guard(state_->mutex);
    if (!node_ || mode_ == Mode::kRead) return errno_status(EBADF, path_, "pwrite");
    return state_->write(*node_, path_, offset, data);
  }
  Status truncate(std::uint64_t size) override {
    std::lock_guard guard(state_->mutex);
    if (!node_ || mode_ == Mode::kRead) return errno_status(EINVAL, path_, "ftruncate");
    state_->set_size(*node_, size);
    return ok_status();
  }
  Result<std::uint64_t> size() override {
    std::lock_guard guard(state_->mutex);
    if (!node_) return errno_status(EBADF, path_, "fstat");
    return node_->size;
  }
  Status datasync() override {
    std::lock_guard guard(state_->mutex);
    return node_ ? ok_status() : errno_status(EBADF, path_, "fdatasync");
  }
  Status set_read_only() override {
    std::lock_guard guard(state_->mutex);
    if (!node_) return errno_status(EBADF, path_, "fchmod");
    node_->writable = false;
    return ok_status();
  }
  Status close() override {
    std::lock_guard guard(state_->mutex);
    if (!node_) return failed(path_ + ": close: already closed");
    node_.reset();
    return ok_status();
  }

 private:
  std::shared_ptr<State> state_;
  std::shared_ptr<Node> node_;
  std::string path_;
  Mode mode_;
};

class MemLock final : public FileLock {
 public:
  MemLock(std::shared_ptr<State> state, std::shared_ptr<Node> node, std::string path)
      : state_(std::move(state)), node_(std::move(node)), path_(std::move(path)) {}
  ~MemLock() override {
    std::lock_guard guard(state_->mutex);
    node_->locked = false;
    node_.reset();
  }
  Status write(const std::string& text) override {
    std::lock_guard guard(state_->mutex);
    state_->set_size(*node_, 0);
    return state_->write(*node_, path_, 0, std::as_bytes(std::span(text)));
  }

 private:
  std::shared_ptr<State> state_;
  std::shared_ptr<Node> node_;
  std::string path_;
};

}  // namespace

MemFs::MemFs(std::uint64_t capacity) : state_(std::make_shared<State>()) {
  state_->root->type = FileType::kDirectory;
  state_->capacity = capacity;
}
MemFs::~MemFs() = default;

Result<std::unique_ptr<File>> MemFs::create(const std::string& path) {
  std::lock_guard guard(state_->mutex);
  State::Place at = state_->place(path);
  if (at.node()) return errno_status(EEXIST, path, "create");
  if (!at.has_dir()) return errno_status(ENOENT, path, "create");
  const std::shared_ptr<Node> node = state_->make_node(FileType::kFile);
  at.put(node);
  return std::unique_ptr<File>(std::make_unique<MemFile>(state_, node, path, Mode::kReadWrite));
}

Result<std::unique_ptr<File>> MemFs::open_update(const std::string& path) {
  const Result<std::string> real = real_path(path);
  std::lock_guard guard(state_->mutex);
  State::Place at = state_->place(real.ok() ? *real : path);
  if (!at.has_dir()) return errno_status(ENOENT, path, "open for writing");
  std::shared_ptr<Node> node = at.node();
  if (!node) at.put(node = state_->make_node(FileType::kFile));
  if (node->type != FileType::kFile) return failed(path + ": open for writing: expected a regular file");
  return std::unique_ptr<File>(std::make_unique<MemFile>(state_, node, path, Mode::kReadWrite));
}

Result<std::unique_ptr<File>> MemFs::open_large(const std::string& path) {
  std::lock_guard guard(state_->mutex);
  std::shared_ptr<Node> node = state_->place(path).node();
  if (!node) return missing(path, "open for writing");
  if (node->type != FileType::kFile) return failed(path + ": open for writing: expected a regular file");
  return std::unique_ptr<File>(std::make_unique<MemFile>(state_, node, path, Mode::kReadWrite));
}

Result<std::unique_ptr<File>> MemFs::open_read(const std::string& path) {
  std::lock_guard guard(state_->mutex);
  std::shared_ptr<Node> node = state_->place(path).node();
  if (!node) return missing(path, "open");
  if (node->type == FileType::kLink) return errno_status(ELOOP, path, "open");
  if (node->type != FileType::kFile) return failed(path + ": open: expected a regular file");
  return std::unique_ptr<File>(std::make_unique<MemFile>(state_, node, path, Mode::kRead));
}

Status MemFs::make_dir(const std::string& path) {
  std::lock_guard guard(state_->mutex);
  State::Place at = state_->place(path);
  if (at.node()) return errno_status(EEXIST, path, "mkdir");
  if (!at.has_dir()) return errno_status(ENOENT, path, "mkdir");
  at.put(state_->make_node(FileType::kDirectory));
  return ok_status();
}

Status MemFs::remove_file(const std::string& path) {
  std::lock_guard guard(state_->mutex);
  State::Place at = state_->place(path);
  std::shared_ptr<Node> node = at.node();
  if (!node) return missing(path, "unlink");
  if (node->type == FileType::kDirectory) return errno_status(EISDIR, path, "unlink");
  at.take();
  return ok_status();
}

Status MemFs::remove_dir(const std::string& path) {
  std::lock_guard guard(state_->mutex);
  State::Place at = state_->place(path);
  std::shared_ptr<Node> node = at.node();
  if (!node) return missing(path, "rmdir");
  if (node->type != FileType::kDirectory) {
    Status status = errno_status(ENOTDIR, path, "rmdir");
    status.code = Code::kNotFound;
    return status;
  }
  if (!node->children.empty()) return errno_status(ENOTEMPTY, path, "rmdir");
  if (at.name.empty()) return errno_status(EBUSY, path, "rmdir");
  at.take();
  return ok_status();
}

Status MemFs::rename(const std::string& from, const std::string& to) {
  std::lock_guard guard(state_->mutex);
  State::Place source = state_->place(from), target = state_->place(to);
  std::shared_ptr<Node> node = source.node(), old = target.node();
  const std::string call = "rename to " + to;
  if (!node || !target.has_dir()) return missing(from, call.c_str());
  if (old == node) return ok_status();
  if (old && old->type == FileType::kDirectory) {
    if (node->type != FileType::kDirectory) return errno_status(EISDIR, from, call);
    if (!old->children.empty()) return errno_status(ENOTEMPTY, from, call);
  } else if (old && node->type == FileType::kDirectory) {
    Status status = errno_status(ENOTDIR, from, call);
    status.code = Code::kNotFound;
    return status;
  }
  source.take();
  target.put(node);
  return ok_status();
}

Status MemFs::rename_noreplace(const std::string& from, const std::string& to) {
  std::lock_guard guard(state_->mutex);
  State::Place source = state_->place(from), target = state_->place(to);
  std::shared_ptr<Node> node = source.node();
  if (!node || !target.has_dir()) return missing(from, ("rename to " + to).c_str());
  if (target.node()) return failed(from + ": rename to " + to + ": the target exists");
  source.take();
  target.put(node);
  return ok_status();
}

Status MemFs::sync_dir(const std::string& path) {
  std::lock_guard guard(state_->mutex);
  std::shared_ptr<Node> node = state_->place(path, State::Last::kFollowed).node();
  if (!node || node->type != FileType::kDirectory) return errno_status(node ? ENOTDIR : ENOENT, path, "open for fsync");
  return ok_status();
}

Result<std::vector<DirEntry>> MemFs::list(const std::string& path) {
  std::lock_guard guard(state_->mutex);
  std::shared_ptr<Node> node = state_->place(path, State::Last::kFollowed).node();
  if (!node) return missing(path, "opendir");
  if (node->type != FileType::kDirectory) return errno_status(ENOTDIR, path, "opendir");
  std::vector<DirEntry> entries;
  for (const auto& [name, child] : node->children) entries.push_back({name, child->type});
  return entries;
}

Result<FileInfo> MemFs::stat(const std::string& path) {
  std::lock_guard guard(state_->mutex);
  std::shared_ptr<Node> node = state_->place(path).node();
  if (!node) return missing(path, "lstat");
  return FileInfo{node->type,
                  node->size,
                  node->mtime_ns,
                  node->names,
                  1,
                  reinterpret_cast<std::uint64_t>(node.get()),
                  node->pages.size() * kPage,
                  node->writable};
}

Result<std::uint64_t> MemFs::free_bytes(const std::string& path) {
  std::lock_guard guard(state_->mutex);
  if (!state_->place(path, State::Last::kFollowed).node()) return missing(path, "statvfs");
  return state_->capacity - *state_->used;
}

Result<std::unique_ptr<FileLock>> MemFs::lock(const std::string& path) {
  std::lock_guard guard(state_->mutex);
  State::Place at = state_->place(path);
  if (!at.has_dir()) return errno_status(ENOENT, path, "open of the lock");
  std::shared_ptr<Node> node = at.node();
  if (!node) at.put(node = state_->make_node(FileType::kFile));
  if (node->type == FileType::kLink) return errno_status(ELOOP, path, "open of the lock");
  if (node->type != FileType::kFile) return errno_status(EISDIR, path, "open of the lock");
  if (node->locked) {
    std::string text(node->size, '\0');
    Status read = state_->read(*node, path, 0, std::as_writable_bytes(std::span(text)));
    if (!read.ok()) return read;
    Status status = locked(path + ": locked by another process");
    status.causes.push_back(text);
    return status;
  }
  node->locked = true;
  return std::unique_ptr<FileLock>(std::make_unique<MemLock>(state_, node, path));
}

Status MemFs::link(const std::string& from, const std::string& to) {
  std::lock_guard guard(state_->mutex);
  State::Place source = state_->place(from), target = state_->place(to);
  std::shared_ptr<Node> node = source.node();
  const std::string call = "link to " + to;
  if (!node || !target.has_dir()) return missing(from, call.c_str());
  if (target.node()) return errno_status(EEXIST, from, call);
  if (node->type == FileType::kDirectory) {
    Status status = errno_status(EPERM, from, call);
    status.code = Code::kUnsupported;
    return status;
  }
  target.put(node);
  return ok_status();
}

Status MemFs::exchange(const std::string& a, const std::string& b) {
  std::lock_guard guard(state_->mutex);
  State::Place first = state_->place(a), second = state_->place(b);
  std::shared_ptr<Node> one = first.node(), two = second.node();
  if (!one || !two) return missing(one ? b : a, ("exchange with " + b).c_str());
  first.dir->children[first.name] = two;
  second.dir->children[second.name] = one;
  return ok_status();
}

Result<std::string> MemFs::real_path(const std::string& path) {
  std::lock_guard guard(state_->mutex);
  std::vector<std::string> names;
  if (!state_->place(path, State::Last::kFollowed, &names).node()) return missing(path, "realpath");
  std::string text;
  for (const std::string& name : names) text += "/" + name;
  return text.empty() ? "/" : text;
}

Status MemFs::symlink(const std::string& target, const std::string& path) {
  std::lock_guard guard(state_->mutex);
  State::Place at = state_->place(path);
  if (at.node()) return errno_status(EEXIST, path, "symlink");
  if (!at.has_dir()) return errno_status(ENOENT, path, "symlink");
  const std::shared_ptr<Node> node = state_->make_node(FileType::kLink);
  node->target = target;
  node->size = target.size();
  at.put(node);
  return ok_status();
}

Status MemFs::overwrite(const std::string& path, std::uint64_t offset, std::span<const std::byte> data) {
  std::lock_guard guard(state_->mutex);
  std::shared_ptr<Node> node = state_->place(path).node();
  return node ? state_->write(*node, path, offset, data) : missing(path, "overwrite");
}

Status MemFs::resize(const std::string& path, std::uint64_t size) {
  std::lock_guard guard(state_->mutex);
  std::shared_ptr<Node> node = state_->place(path).node();
  if (!node) return missing(path, "resize");
  state_->set_size(*node, size);
  return ok_status();
}

}  // namespace titan::ckpt::testing
