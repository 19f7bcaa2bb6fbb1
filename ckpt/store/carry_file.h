#pragma once
// Takes a published file over into another checkpoint without opening it for writing. Shared by every tool that
// rewrites.
#include <functional>
#include <string>

#include "ckpt/base/fs.h"

namespace titan::ckpt {

enum class CarryMethod { kLink, kReflink, kCopy };
const char* carry_name(CarryMethod method);  ///< "hard link", "reflink", "copy"

struct Carried {
  CarryMethod method = CarryMethod::kLink;
  std::string reason;  ///< why it is no hard link; empty for one
};

/// Makes `member` of `folder` durable (fdatasync), then makes `to` a hard link of it; else a reflink; else a copy, both
/// read-only and synced. No name below `folder` may be a link. Falls back where the file system answers kUnsupported
/// (another device, links not permitted, too many links, not supported); every other error ends it. `to` must not
/// exist; after an error it is not there. The folder of `to` is not synced. `pulse` is called between the blocks of a
/// copy; an error of it ends the call. \error kFailed, kMediaError, kNotFound, kCorrupt (a link), those of `pulse`
Result<Carried> carry_file(Fs& fs, const std::string& folder, const std::string& member, const std::string& to,
                           const std::function<Status()>& pulse = {});

}  // namespace titan::ckpt
