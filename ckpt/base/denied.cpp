#include "ckpt/base/denied.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "ckpt/base/path.h"
#include "ckpt/base/quoting.h"

namespace titan::ckpt {
namespace {

using Kind = Obstacle::Kind;

// Read from /etc/passwd, because a static program cannot call getpwuid(). Users of a directory server are not in it.
std::string name_of(std::uint32_t id) {
  std::ifstream users("/etc/passwd");  // a file of the system, not of storage: does not go through Fs
  for (std::string line; std::getline(users, line);) {
    const std::size_t password = line.find(':'), number = line.find(':', password + 1);
    if (password == std::string::npos || number == std::string::npos) continue;
    std::uint32_t found = 0;
    const auto [end, error] = std::from_chars(line.data() + number + 1, line.data() + line.size(), found);
    if (error == std::errc() && *end == ':' && found == id) return line.substr(0, password);
  }
  return {};
}

std::string user_text(std::uint32_t id, const std::string& name) {
  const std::string number = "uid " + std::to_string(id);
  return name.empty() ? number : name + " (" + number + ")";
}

std::string mode_text(std::uint32_t mode) {
  std::string text = "rwxrwxrwx";
  for (int bit = 0; bit < 9; ++bit)
    if ((mode >> (8 - bit) & 1) == 0) text[static_cast<std::size_t>(bit)] = '-';
  return text;
}

bool may(const std::string& path, int right) {
  return ::faccessat(AT_FDCWD, path.c_str(), right, AT_EACCESS) == 0 || errno != EACCES;
}

Obstacle obstacle_at(Kind kind, const std::string& path) {
  Obstacle obstacle{kind, path};
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    obstacle.owner = info.st_uid;
    obstacle.mode = info.st_mode & 07777;
    obstacle.owner_name = name_of(info.st_uid);
  }
  return obstacle;
}

/// The first name in `path` that is not a folder, or a folder without the right to pass through it.
Obstacle obstacle_on_the_way(const std::string& path) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
    const std::string folder = path.substr(0, end);
    struct stat info {};
    if (::stat(folder.c_str(), &info) != 0) return {};
    if (!S_ISDIR(info.st_mode)) return obstacle_at(Kind::kFile, folder);
    if (!may(folder, X_OK)) return obstacle_at(Kind::kPass, folder);
  }
  return {};
}

/// The first link in `path`, the last name included, whose target does not exist (ENOENT) or that leads to itself
/// (ELOOP).
Obstacle broken_link(int error, const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string name = path.substr(0, end);
    std::error_code unread;
    const std::string target = std::filesystem::read_symlink(name, unread).string();
    struct stat info {};
    if (!unread && ::stat(name.c_str(), &info) != 0 && errno == error) {
      Obstacle found{error == ELOOP ? Kind::kLoop : Kind::kDeadLink, name};
      found.target = target;
      return found;
    }
    if (end == std::string::npos) return {};
  }
}

bool begins_with_any(std::string_view call, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words)
    if (call.starts_with(word)) return true;
  return false;
}

Obstacle obstacle_of_names(const std::string& path) {
  const std::string parent = parent_path(path);
  return may(parent, W_OK) ? Obstacle{} : obstacle_at(Kind::kChange, parent);
}

/// The obstacle at `path` itself, all of whose parent folders may be passed through.
Obstacle obstacle_at_the_end(const std::string& path, const std::string& call) {
  if (begins_with_any(call, {"mkdir", "create", "unlink", "rmdir", "rename to", "link to", "exchange with"})) {
    Obstacle found = obstacle_of_names(path);
    const std::size_t to = call.find('/');
    if (found.kind == Kind::kNone && call.starts_with("rename to") && to != std::string::npos)
      found = obstacle_of_names(call.substr(std::string_view("rename to ").size()));
    return found;
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return obstacle_of_names(path);
  if (S_ISDIR(info.st_mode) && call.starts_with("access for writing"))
    return may(path, W_OK) && may(path, X_OK) ? Obstacle{} : obstacle_at(Kind::kChange, path);
  if (S_ISDIR(info.st_mode)) return may(path, R_OK) ? Obstacle{} : obstacle_at(Kind::kList, path);
  const bool writes = begins_with_any(call, {"open for writing", "open of the lock", "access for writing"});
  if (writes && !may(path, W_OK)) return obstacle_at(Kind::kWrite, path);
  return may(path, R_OK) ? Obstacle{} : obstacle_at(Kind::kRead, path);
}

}  // namespace

std::string obstacle_text(const Obstacle& obstacle, const User& user) {
  const auto denied = [&](const std::string& what, const std::string& right, const std::string& letters) {
    if (obstacle.owner == user.id)
      return "the " + what + " " + obstacle.path + " is this user's own, but its mode is " + mode_text(obstacle.mode) +
             ": chmod u+" + letters + " " + shell_word(obstacle.path) + ", or choose another place";
    return "the " + what + " " + obstacle.path + " belongs to " + user_text(obstacle.owner, obstacle.owner_name) +
           ", mode " + mode_text(obstacle.mode) + ": user " + user_text(user.id, user.name) + " may not " + right +
           "; ask the owner for that right, or choose another place";
  };
  switch (obstacle.kind) {
    case Kind::kNone: return {};
    case Kind::kPass: return denied("folder", "pass through it", "x");
    case Kind::kList: return denied("folder", "list it", "rx");
    case Kind::kChange: return denied("folder", "make or remove anything in it", "wx");
    case Kind::kRead: return denied("file", "read it", "r");
    case Kind::kWrite: return denied("file", "write it", "rw");
    case Kind::kFile:
      return obstacle.path + " is a file, expected a folder: choose another name, or move that file away";
    case Kind::kDeadLink:
      return obstacle.path + " is a link to " + obstacle.target +
             ", which does not exist: is it mounted? Make that folder, or choose another place";
    case Kind::kLoop: return obstacle.path + " is a link that leads to itself: remove it, or choose another place";
    case Kind::kReadOnly:
      return "the file system of " + obstacle.path +
             " is mounted read-only: choose another place, or have it mounted for writing";
    case Kind::kElse:
      return obstacle.path + " belongs to " + user_text(obstacle.owner, obstacle.owner_name) + ", mode " +
             mode_text(obstacle.mode) + ", which allows it to user " + user_text(user.id, user.name) +
             ": an access list, the file server or a security module forbids it; ask who keeps them, or choose another "
             "place";
  }
  return {};
}

Obstacle find_obstacle(int error, const std::string& path, const std::string& call) {
  if (error == EROFS) return obstacle_at(Kind::kReadOnly, path);
  if (error == ENOENT || error == ELOOP) return broken_link(error, path);
  if (error != EACCES && error != ENOTDIR) return {};
  Obstacle found = obstacle_on_the_way(path);
  if (error == ENOTDIR) {
    struct stat info {};
    if (found.kind == Kind::kNone && ::stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode))
      return obstacle_at(Kind::kFile, path);
    return found.kind == Kind::kFile ? found : Obstacle{};
  }
  if (found.kind == Kind::kNone) found = obstacle_at_the_end(path, call);
  return found.kind == Kind::kNone ? obstacle_at(Kind::kElse, path) : found;
}

std::string denied_hint(int error, const std::string& path, const std::string& call) {
  const int before = errno;
  const Obstacle obstacle = find_obstacle(error, path, call);
  const std::uint32_t user = ::geteuid();
  std::string text = obstacle.kind == Kind::kNone ? "" : obstacle_text(obstacle, {user, name_of(user)});
  errno = before;
  return text;
}

}  // namespace titan::ckpt
