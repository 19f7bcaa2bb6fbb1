#pragma once
// Writing a checkpoint from your own trainer.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "titan/ckpt/state.h"
#include "titan/ckpt/status.h"
#include "titan/ckpt/tensor.h"

namespace titan {

/// A tensor to write.
struct TensorData {
  std::string parameter;  ///< name of the parameter in the model: "layers.0.attention.wq.weight"
  std::string slot;       ///< empty: the parameter itself; else the name of its optimizer state: "exp_avg"
  DType dtype = DType::kFloat32;
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> data;  ///< row-major; must not change before write_checkpoint() returns
};

/// A checkpoint that was written.
struct Written {
  std::string path;
  std::string id;           ///< as Checkpoint::id()
  std::uint64_t bytes = 0;  ///< size of all files except the manifest, in bytes
};

/// The path of a step's folder: "<run>/step-00000010". `titan-ckpt ls RUN` and "RUN@latest" find steps under this name.
std::string step_folder(const std::string& run, std::uint64_t step);

/// Writes a checkpoint into the new folder `path`. The folder appears complete or not at all, and is durable when the
/// call returns ok. The parent of `path` is created if it is missing, but no folder above it. `tensors` has the
/// parameters in model order. A slot has the shape of its parameter, which must be in `tensors` too. Uses the calling
/// thread and two more. \error kInvalid (`path` exists; tensors that do not fit together), kLocked (another writer),
/// kFailed (disk full)
Result<Written> write_checkpoint(const std::string& path, const State& state,
                                 std::span<const TensorData> tensors) noexcept;

}  // namespace titan
