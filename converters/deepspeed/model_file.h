#pragma once
// DeepSpeed's model file: shapes in the order of the flat vectors, the step, and tensors (empty with ZeRO stage 3).
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "converters/torch_save/torch_file.h"

namespace titan::convert::deepspeed {

using ckpt::Result;

/// The parameters of one optimizer param group, in the order of its flat vector.
using Shapes = std::vector<std::pair<std::string, std::vector<std::uint64_t>>>;

/// An open model file and the facts in it.
struct ModelFile {
  TorchFile file;
  std::optional<std::uint64_t> step;  ///< global_steps
  std::uint64_t skipped = 0;          ///< how many of these steps the loss scaler skipped
  bool frozen = false;                ///< some parameters are not trained
  bool optimizer = false;             ///< the file contains the optimizer state (only without ZeRO)
};
/// Opens the model file at `path`. \error as TorchFile::open
Result<ModelFile> open_model_file(ckpt::Fs& fs, const std::string& path);

/// The shapes of each group of the file. \error kCorrupt: the file has no shapes
Result<std::vector<Shapes>> shapes_of(const TorchFile& file);

/// The tensor `name` of the model; nullopt if there is none. \error kCorrupt, kUnsupported
Result<std::optional<StoredTensor>> module_tensor(const TorchFile& file, const std::string& name);
/// The names of all tensors except buffers. \error kCorrupt: there is no model
Result<std::vector<std::string>> module_names(const TorchFile& file);

}  // namespace titan::convert::deepspeed
