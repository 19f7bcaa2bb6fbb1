#pragma once
// Why the kernel refused a call on a path: which right is missing, on what, and whose that is.
#include <cstdint>
#include <string>

namespace titan::ckpt {

/// What stands in the way of a call.
struct Obstacle {
  enum class Kind {
    kNone,      ///< nothing that can be seen
    kPass,      ///< a folder that may not be passed through
    kList,      ///< a folder that may not be listed
    kChange,    ///< a folder in which no name may be made, changed or removed
    kRead,      ///< a file that may not be read
    kWrite,     ///< a file that may not be written
    kFile,      ///< a file where a folder is expected
    kDeadLink,  ///< a link to what is not there
    kLoop,      ///< a link that leads to itself
    kReadOnly,  ///< a file system that is mounted read-only
    kElse,      ///< the mode allows it: an access list, a server or a security module does not
  };
  Kind kind = Kind::kNone;
  std::string path;  ///< of the file or folder
  std::uint32_t owner = 0, mode = 0;
  std::string owner_name = {};  ///< empty where it is not known
  std::string target = {};      ///< of a dead link
};

struct User {
  std::uint32_t id = 0;
  std::string name = {};
};

/// One sentence on what is missing, and what to do; empty for kNone. Pure.
std::string obstacle_text(const Obstacle& obstacle, const User& user);

/// Looks for what made `call` ("mkdir", "open", "rename to X") on `path` fail with `error` (EACCES, ELOOP, ENOENT,
/// ENOTDIR, EROFS; nothing for others).
Obstacle find_obstacle(int error, const std::string& path, const std::string& call);

/// obstacle_text of find_obstacle for this process.
std::string denied_hint(int error, const std::string& path, const std::string& call);

}  // namespace titan::ckpt
