#pragma once
// Adds a published file to another checkpoint as a hard link, a reflink (copy-on-write) or a copy. Never opens the
// source for writing. Used by every tool that makes a checkpoint from another one.
#include <functional>
#include <string>

#include "ckpt/base/result.h"

namespace titan::ckpt {

class Fs;

enum class LinkMethod { kLink, kReflink, kCopy };
const char* link_method_name(LinkMethod method);  ///< "hard link", "reflink", "copy"

/// How a member was taken over.
struct Carried {
  LinkMethod method = LinkMethod::kLink;
  std::string reason;  ///< why it is not a hard link; empty for a hard link
};

/// Makes `member` of `folder` durable (fdatasync), then makes `to` a hard link of it; else a reflink; else a copy.
/// Reflinks and copies are read-only and synced. No name below `folder` may be a symbolic link. The next method is
/// tried if the file system answers kUnsupported (another device, links not permitted, too many links, no such call);
/// any other error ends the call. `to` must not exist; an error leaves no incomplete file there. The folder of `to` is
/// not synced. `pulse` is called between the blocks of a copy; its error ends the call. \error kFailed, kMediaError,
/// kNotFound, kCorrupt (a link), the errors of `pulse`
Result<Carried> link_or_copy(Fs& fs, const std::string& folder, const std::string& member, const std::string& to,
                             const std::function<Status()>& pulse = {});

}  // namespace titan::ckpt
