#pragma once
// Large made-up checkpoints, generated about as fast as a disk writes: roughly normal values, a pure function of tensor
// name, leaf and seed, so that every mesh saves the same state.
#include "ckpt/save/tensor_stream.h"
#include "tests/support/make_checkpoint.h"

namespace titan::ckpt::testing {

/// Sets the dimensions of `options` so that parameters and slots take about `bytes`; the shapes are those of Llama
/// models, and the configuration names them. \error kInvalid when `bytes` is too few for one layer
Status fill_size(Synthetic& options, std::uint64_t bytes);

/// Fills `out` (float32) with leaf `leaf` of the stored tensor `name`: weights about N(0, 0.02), first moments about
/// N(0, 1e-3), second moments squares of such.
void bulk_values(std::uint64_t seed, const std::string& name, const std::string& slot, std::uint64_t leaf,
                 std::span<float> out);

/// Hands out bulk_values().
class BulkSource final : public TensorSource {
 public:
  BulkSource(const Synthetic& options, const std::vector<ParameterMeta>& parameters)
      : options_(options), parameters_(parameters) {}
  Result<std::span<const std::byte>> leaf(const TensorRef& ref, std::uint64_t leaf,
                                          std::span<std::byte> scratch) override;

 private:
  const Synthetic& options_;
  const std::vector<ParameterMeta>& parameters_;
};

}  // namespace titan::ckpt::testing
