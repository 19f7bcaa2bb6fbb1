#pragma once
// Why the kernel refused a call on a path: which right is missing, on which file or folder, and who owns it.
#include <cstdint>
#include <string>

namespace titan::ckpt {

/// What made a call fail.
struct Obstacle {
  enum class Kind {
    kNone,      ///< nothing was found
    kPass,      ///< a folder without the right to pass through it (x)
    kList,      ///< a folder without the right to list it (r)
    kChange,    ///< a folder without write permission: no name in it may be created, changed or removed
    kRead,      ///< a file without the right to read it
    kWrite,     ///< a file without the right to write it
    kFile,      ///< a file where a folder is expected
    kDeadLink,  ///< a symbolic link whose target does not exist
    kLoop,      ///< a symbolic link that leads to itself
    kReadOnly,  ///< a file system that is mounted read-only
    kElse,      ///< the mode bits allow the call: an access control list, a server or a security module refused it
  };
  Kind kind = Kind::kNone;
  std::string path;                   ///< the file or folder that blocks the call
  std::uint32_t owner = 0, mode = 0;  ///< user id of the owner and mode bits of `path`
  std::string owner_name = {};        ///< empty if not known
  std::string target = {};            ///< target of a dead link
};

/// The user whose call failed.
struct User {
  std::uint32_t id = 0;
  std::string name = {};
};

/// A hint: what blocks the call, and what to do. Empty for kNone. Pure.
std::string obstacle_text(const Obstacle& obstacle, const User& user);

/// Finds why `call` ("mkdir", "open", "rename to X") on `path` failed with the errno `error`: EACCES, ELOOP, ENOENT,
/// ENOTDIR or EROFS. Any other `error` gives kNone.
Obstacle find_obstacle(int error, const std::string& path, const std::string& call);

/// obstacle_text(find_obstacle()) for the user of this process.
std::string denied_hint(int error, const std::string& path, const std::string& call);

}  // namespace titan::ckpt
