#pragma once
// Writes a checkpoint to nowhere: a dry run reads, casts and checks all that the conversion would, and keeps nothing.
#include <memory>
#include <string>

#include "ckpt/store/media_watch.h"

namespace titan::convert {

/// Reads what is there; forgets what is written, of which nothing can be read again.
class Discard final : public ckpt::MediaWatch {
 public:
  using MediaWatch::MediaWatch;
  ckpt::Result<std::unique_ptr<ckpt::File>> create(const std::string& path) override;
  ckpt::Status make_dir(const std::string&) override { return {}; }
  ckpt::Status sync_dir(const std::string&) override { return {}; }
};

}  // namespace titan::convert
