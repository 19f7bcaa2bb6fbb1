#pragma once
// Reads checkpoint members from the store itself. The page cache may still hold the bytes as they were written, or as
// another reader saw them.
#include "ckpt/store/media_watch.h"

namespace titan::ckpt {

/// A read-only Fs on top of another one, whose members always bypass the page cache.
class Uncached final : public MediaWatch {
 public:
  using MediaWatch::MediaWatch;
  Result<std::unique_ptr<File>> open_member(const std::string& folder, const std::string& member, Access) override {
    return MediaWatch::open_member(folder, member, Access::kUncached);
  }
};

}  // namespace titan::ckpt
