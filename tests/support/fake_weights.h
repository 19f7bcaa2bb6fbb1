#pragma once
// Weights whose metadata can be queried but which cannot be read.
#include <memory>
#include <string>

#include "ckpt/read/weight_source.h"

namespace titan::ckpt::testing {

/// A checkpoint that says what `manifest` says.
class Unreadable final : public CheckpointContent {
 public:
  Unreadable(std::string path, Manifest manifest, bool foreign)
      : CheckpointContent(std::move(path), std::move(manifest)), foreign_(foreign) {}
  bool foreign() const override { return foreign_; }
  Status read(const TensorRef&, std::uint64_t, std::span<std::byte>) override {
    return ckpt::failed("nothing to read");
  }

 private:
  bool foreign_;
};

inline std::unique_ptr<WeightSource> fake_weights(Manifest manifest, std::string id, bool foreign = true) {
  CheckpointReader reader(std::make_unique<Unreadable>("weights", std::move(manifest), foreign));
  return std::make_unique<WeightSource>(std::move(reader), std::move(id));
}

}  // namespace titan::ckpt::testing
