#pragma once
// A file system for dry runs, which do all of a conversion's reads, casts and checks but write nothing.
#include <memory>
#include <string>

#include "ckpt/store/media_watch.h"

namespace titan::convert {

/// Reads existing files. Discards everything that is written: written data cannot be read back.
class Discard final : public ckpt::MediaWatch {
 public:
  using MediaWatch::MediaWatch;
  ckpt::Result<std::unique_ptr<ckpt::File>> create(const std::string& path) override;
  ckpt::Status make_dir(const std::string&) override { return {}; }
  ckpt::Status sync_dir(const std::string&) override { return {}; }
};

}  // namespace titan::convert
