#pragma once
// Tensors to read by name from a checkpoint of any format: what a new run takes its weights from.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/dtype.h"
#include "ckpt/model/settings.h"
#include "ckpt/read/reader.h"

namespace titan::ckpt {

class Fs;

struct WeightInfo {
  std::string name;  ///< as this toolkit names parameters
  DType dtype = DType::kF32;
  std::vector<std::uint64_t> shape;
};

class WeightSource {
 public:
  /// All parameters of `reader` have weights. `id`: see id().
  WeightSource(CheckpointReader reader, std::string id);

  const std::vector<WeightInfo>& tensors() const { return tensors_; }
  /// Where the weights come from, for messages.
  const std::string& path() const { return reader_.path(); }
  /// In hex. Ours: equal ids, equal bits. Foreign: equal names, types, shapes and 4096 first elements of each tensor.
  const std::string& id() const { return id_; }
  /// Step at which they were saved; 0 where the format does not say.
  std::uint64_t step() const { return reader_.manifest().step; }
  /// Null for other formats. With the manifest, others may read the weights through CheckpointReader::known.
  const Manifest* manifest() const { return reader_.foreign() ? nullptr : &reader_.manifest(); }
  /// The files that came with the model, and why others cannot be taken along.
  std::vector<ModelFilePlace> model_files() const { return reader_.model_files(); }
  std::vector<std::string> model_file_notes() const { return reader_.model_file_notes(); }
  /// Names in the files of another format of what tensors() lacks.
  std::vector<std::string> left_out() const { return reader_.left_out(); }
  /// The rows "model.*" of the configuration that the checkpoint knows (key -> TOML text), sorted.
  Settings model_config() const;
  /// Elements [first, first + count) of tensor `index`, row-major, into `out` (count x element size bytes).
  /// Thread-safe. \error kCorrupt (digests), kFailed
  Status read(std::size_t index, std::uint64_t first, std::uint64_t count, std::span<std::byte> out) const;

 private:
  CheckpointReader reader_;
  std::vector<WeightInfo> tensors_;
  std::string id_;
};

/// The component "model" of `reader`, ours or a view of a foreign checkpoint. A foreign one gets an id from its
/// tensors' names, types, shapes and first elements. \error kIncompatible: it has no weights; kFailed,
/// kCorrupt (foreign: reading)
Result<std::unique_ptr<WeightSource>> weights_of(CheckpointReader reader);
/// The component "model" of a checkpoint of this toolkit. \error see CheckpointReader::open; kIncompatible: it has no
/// weights
Result<std::unique_ptr<WeightSource>> open_weights(Fs& fs, const std::string& path);

/// Opens the weights at a path, whatever their format.
using WeightOpener = std::function<Result<std::unique_ptr<WeightSource>>(const std::string& path)>;

}  // namespace titan::ckpt
