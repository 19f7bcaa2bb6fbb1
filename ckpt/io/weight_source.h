#pragma once
// Tensors to read by name from a checkpoint of any format: what a new run takes its weights from.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/base/result.h"
#include "ckpt/io/reader.h"
#include "ckpt/model/dtype.h"
#include "ckpt/model/settings.h"

namespace titan::ckpt {

struct WeightInfo {
  std::string name;  ///< as this toolkit names parameters
  DType dtype = DType::kF32;
  std::vector<std::uint64_t> shape;
};

class WeightSource {
 public:
  virtual ~WeightSource() = default;
  virtual const std::vector<WeightInfo>& tensors() const = 0;
  /// Where the weights come from, for messages.
  virtual const std::string& path() const = 0;
  /// In hex. Ours: equal ids, equal bits. Foreign: equal names, types, shapes and 4096 first elements of each tensor.
  virtual std::string id() const = 0;
  /// Step at which they were saved; 0 where the format does not say.
  virtual std::uint64_t step() const = 0;
  /// Of a checkpoint of this toolkit, null for other formats: who has it may read the weights through
  /// CheckpointReader::known.
  virtual const Manifest* manifest() const { return nullptr; }
  /// The files that came with the model, and why others cannot be taken along.
  virtual std::vector<ModelFilePlace> model_files() const { return {}; }
  virtual std::vector<std::string> model_file_notes() const { return {}; }
  /// The rows "model.*" of the configuration that the checkpoint knows (key -> TOML text), sorted.
  virtual Settings model_config() const = 0;
  /// Elements [first, first + count) of tensor `index`, row-major, into `out` (count x element size bytes).
  /// Thread-safe. \error kCorrupt (digests), kFailed
  virtual Status read(std::size_t index, std::uint64_t first, std::uint64_t count, std::span<std::byte> out) const = 0;
};

/// The component "model" of `reader`, ours or a view of a foreign checkpoint. A foreign one has no id: it is made of
/// its tensors' names, types, shapes and the first elements of each. \error kIncompatible: it has no weights; kFailed,
/// kCorrupt (foreign: reading)
Result<std::unique_ptr<WeightSource>> weights_of(CheckpointReader reader);
/// The component "model" of a checkpoint of this toolkit. \error see CheckpointReader::open; kIncompatible: it has no
/// weights
Result<std::unique_ptr<WeightSource>> open_weights(Fs& fs, const std::string& path);

/// Opens the weights at a path, whatever their format.
using WeightOpener = std::function<Result<std::unique_ptr<WeightSource>>(const std::string& path)>;

}  // namespace titan::ckpt
