#pragma once
// Weights that can be asked about and not read.
#include <memory>
#include <string>

#include "ckpt/io/weight_source.h"

namespace titan::ckpt::testing {

/// A checkpoint of another format that says what `manifest` says.
class Unreadable final : public CheckpointContent {
 public:
  using CheckpointContent::CheckpointContent;
  bool foreign() const override { return true; }
  Status read(const TensorRef&, LeafRange, std::span<std::byte>) override { return ckpt::failed("nothing to read"); }
};

inline std::unique_ptr<WeightSource> fake_weights(Manifest manifest, std::string id) {
  CheckpointReader reader(std::make_unique<Unreadable>("weights", std::move(manifest)));
  return std::make_unique<WeightSource>(std::move(reader), std::move(id));
}

}  // namespace titan::ckpt::testing
