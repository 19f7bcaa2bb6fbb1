#pragma once
// Small made-up checkpoints through the real writer: every value is a pure function of the options.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/read/snapshot.h"
#include "ckpt/save/publish.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::ckpt::testing {

/// Adds `delta` to one element of a stored tensor ("norm.weight", "norm.weight.exp_avg").
struct Change {
  std::string tensor;
  std::uint64_t index = 0;
  double delta = 0;
};

enum class Values {
  kUniform,  ///< those of the golden files; slow
  kNormal,   ///< bulk_values.h; float32 only, `changes` do not apply
};

struct Synthetic {
  std::uint64_t step = 10;
  std::uint32_t dp = 1, pp = 1;
  std::uint64_t leaf_elements = 256;
  std::uint64_t seed = 1;     ///< of the tensor values
  DType dtype = DType::kF32;  ///< kF32 or kBF16
  Codec codec = Codec::kRaw;
  std::vector<std::string> slots{kExpAvg, kExpAvgSq};
  std::uint32_t parity = 0;
  unsigned threads = 1;  ///< of each rank's writer
  std::uint32_t layers = 2;
  std::uint64_t dim = 16, ffn = 24, vocab = 67;
  Values values = Values::kUniform;
  std::vector<Change> changes;
  double peak_lr = 1e-3;
  std::string created = "2026-01-02T03:04:05Z";
  Settings config{{"model.dim", "16"}, {"optimizer.lr", "0.001"}, {"training.steps", "100"}};
};

/// Parameters of a Llama-shaped model in model order, all on stage 0.
std::vector<ParameterMeta> synthetic_parameters(const Synthetic& options);
/// The snapshot that make_checkpoint saves.
Snapshot synthetic_snapshot(const Synthetic& options);
/// The raw bytes of one whole stored tensor.
std::vector<std::byte> synthetic_tensor(const Synthetic& options, const std::vector<ParameterMeta>& parameters,
                                        const TensorRef& ref);

/// Saves step `options.step` below `checkpoint_dir`; with kNormal the ranks are written by two threads.
Result<Published> make_checkpoint(Fs& fs, const std::string& checkpoint_dir, const Synthetic& options);

}  // namespace titan::ckpt::testing
