#pragma once
// Reads the weights of a checkpoint of any format by tensor name, to initialise a new run.
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

/// One parameter of a WeightSource.
struct WeightInfo {
  std::string name;  ///< Titan's name of the parameter
  DType dtype = DType::kF32;
  std::vector<std::uint64_t> shape;
  std::string in_file{};  ///< CheckpointReader::name_in_file()
};

/// The weights of one checkpoint.
class WeightSource {
 public:
  /// All parameters of `reader` must have weights. `id` is the value of id().
  WeightSource(CheckpointReader reader, std::string id);

  const std::vector<WeightInfo>& tensors() const { return tensors_; }
  /// The path of the checkpoint, for messages.
  const std::string& path() const { return reader_.path(); }
  /// The id in hex. Equal ids of Titan checkpoints mean equal bits. Equal ids of foreign ones mean equal names, types
  /// and shapes of the tensors, and equal first 4096 elements of each.
  const std::string& id() const { return id_; }
  /// Step at which the weights were saved; 0 if the format does not record it.
  std::uint64_t step() const { return reader_.manifest().step; }
  /// The manifest; null for other formats. With this manifest, CheckpointReader::known opens the weights in other
  /// processes.
  const Manifest* manifest() const { return reader_.foreign() ? nullptr : &reader_.manifest(); }
  /// As the functions of CheckpointReader: the files of the model that a run copies, and why others are not copied.
  std::vector<ModelFilePlace> model_files() const { return reader_.model_files(); }
  std::vector<std::string> model_file_notes() const { return reader_.model_file_notes(); }
  /// Names of tensors in the files of a foreign checkpoint that are not in tensors().
  std::vector<std::string> left_out() const { return reader_.left_out(); }
  /// The checkpoint's configuration rows "model.*" (key -> TOML text), sorted.
  Settings model_config() const;
  /// Reads elements [first, first + count) of tensor `index`, row-major, into `out` (count * element size bytes).
  /// Thread-safe. \error as CheckpointReader::read
  Status read(std::size_t index, std::uint64_t first, std::uint64_t count, std::span<std::byte> out) const;

 private:
  CheckpointReader reader_;
  std::vector<WeightInfo> tensors_;
  std::string id_;
};

/// The weights of `reader`. A foreign checkpoint gets an id computed from the names, types, shapes and first elements
/// of its tensors. \error kIncompatible (no weights); while reading a foreign checkpoint, as CheckpointReader::read
Result<std::unique_ptr<WeightSource>> weights_of(CheckpointReader reader);
/// The weights of a Titan checkpoint. \error as CheckpointReader::open; kIncompatible (no weights)
Result<std::unique_ptr<WeightSource>> open_weights(Fs& fs, const std::string& path);

/// Opens the weights at a path, whatever their format. `fs` must outlive them.
using WeightOpener = std::function<Result<std::unique_ptr<WeightSource>>(Fs& fs, const std::string& path)>;

}  // namespace titan::ckpt
