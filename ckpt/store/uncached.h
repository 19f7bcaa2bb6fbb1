#pragma once
// Reads members of checkpoints from the store itself, because the page cache may still hold the bytes as they were
// written or read earlier.
#include "ckpt/store/media_watch.h"

namespace titan::ckpt {

/// A MediaWatch that always opens members with Access::kUncached.
class Uncached final : public MediaWatch {
 public:
  using MediaWatch::MediaWatch;
  Result<std::unique_ptr<File>> open_member(const std::string& folder, const std::string& member, Access) override {
    return MediaWatch::open_member(folder, member, Access::kUncached);
  }
};

}  // namespace titan::ckpt
