#pragma once
// Reads any range of leaves of any tensor of a checkpoint with positioned reads, and checks their digests. Does not use
// libhdf5.
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ckpt/format/manifest.h"
#include "ckpt/format/manifest_builder.h"
#include "ckpt/format/member_names.h"
#include "ckpt/model/data_position.h"
#include "ckpt/model/lr.h"
#include "ckpt/model/train_state.h"
#include "ckpt/read/model_files.h"

namespace titan::ckpt {

class Fs;

/// What a CheckpointReader reads: a Titan checkpoint, or one of another format under Titan's names. The functions are
/// those of CheckpointReader.
class CheckpointContent {
 public:
  CheckpointContent(std::string from, Manifest content) : path(std::move(from)), manifest(std::move(content)) {}
  virtual ~CheckpointContent() = default;
  virtual bool foreign() const = 0;
  /// Fills `out`, which is not empty, with the elements of `ref` from `first` on, which must exist. A Titan checkpoint
  /// is asked for whole leaves alone. Thread-safe.
  virtual Status read(const TensorRef& ref, std::uint64_t first, std::span<std::byte> out) = 0;
  virtual Result<std::string> json_text(const char* component) const { return absent(component); }
  virtual Result<LrSchedule> lr_schedule() const { return absent(kLrScheduler); }
  virtual Result<DataPosition> data_position() const { return absent(kDataloader); }
  virtual Result<TrainState> train_state() const { return absent(kTrainState); }
  virtual std::vector<ModelFilePlace> model_files() const { return {}; }
  virtual std::vector<std::string> model_file_notes() const { return {}; }
  virtual std::vector<std::string> left_out() const { return {}; }
  virtual std::string name_in_file(std::uint32_t /*parameter*/) const { return {}; }

  std::string path;
  Manifest manifest;  ///< of a foreign checkpoint: without files and pieces, and with meaningless digests

 protected:
  Status absent(const char* component) const {
    return not_found("component '" + std::string(component) + "' is not in " + path);
  }
};

/// Reads and checks only the manifest of a checkpoint folder, with one open and no stat.
/// \error as CheckpointReader::open
Result<Manifest> read_manifest(Fs& fs, const std::string& path);

/// An open checkpoint.
class CheckpointReader {
 public:
  /// Opens a checkpoint folder: parses the manifest, checks its self-digest and version, and that every member exists
  /// with the exact size. \error kNotFound (no manifest in `path`), kCorrupt, kIncompatible (newer format),
  /// kMediaError, kFailed
  static Result<CheckpointReader> open(Fs& fs, const std::string& path);
  /// Makes a reader from the manifest of a checkpoint that another process opened, perhaps on another host. Files are
  /// opened when they are read; digests are checked then. `json` maps JSON components to texts that came with the
  /// manifest; other components are read from the folder.
  static CheckpointReader known(Fs& fs, std::string path, Manifest manifest,
                                std::map<std::string, std::string> json = {});
  /// For a checkpoint of another format. It has no digests, so its bytes are checked only as far as the format allows
  /// (torch DCP has a CRC).
  explicit CheckpointReader(std::unique_ptr<CheckpointContent> content) : content_(std::move(content)) {}

  const std::string& path() const { return content_->path; }
  const Manifest& manifest() const { return content_->manifest; }
  /// Moves the manifest out. The reader cannot be used afterwards.
  Manifest take_manifest() && { return std::move(content_->manifest); }
  /// True for a checkpoint of another format; its id and digests are zeros.
  bool foreign() const { return content_->foreign(); }
  /// Names of the parts of a foreign checkpoint that Titan cannot represent.
  std::vector<std::string> left_out() const { return content_->left_out(); }
  /// The name that the tensor with the weights of `parameter` has in the files of a foreign checkpoint; the rules of
  /// checkpoint.initial_load_map refer to this name. "" for a Titan checkpoint.
  std::string name_in_file(std::uint32_t parameter) const { return content_->name_in_file(parameter); }

  /// The files that came with the model and that a run copies into its checkpoints.
  std::vector<ModelFilePlace> model_files() const { return content_->model_files(); }
  /// One line for each other file of the model that is not copied, with the reason (only for foreign checkpoints).
  std::vector<std::string> model_file_notes() const { return content_->model_file_notes(); }

  /// The text of a JSON component, checked against its digest. \error kCorrupt, kNotFound (absent component),
  /// kMediaError, kFailed
  Result<std::string> json_text(const char* component) const { return content_->json_text(component); }
  /// The JSON components, each checked against its digest. \error as json_text()
  Result<LrSchedule> lr_schedule() const { return content_->lr_schedule(); }
  Result<DataPosition> data_position() const { return content_->data_position(); }
  Result<TrainState> train_state() const { return content_->train_state(); }

  /// Reads `leaves` of `ref` into `out` (exactly their raw bytes), and checks each leaf of a Titan checkpoint against
  /// its digest. Thread-safe. \error kCorrupt, which names file, tensor, leaf and offset; kNotFound when the tensor or
  /// its file is absent; kInvalid (no such leaves, or another size of `out`); kMediaError, kFailed
  Status read(const TensorRef& ref, LeafRange leaves, std::span<std::byte> out) const;
  /// Reads elements of `ref` from `first` on. Those of a Titan checkpoint must be whole leaves; RangeReader reads any
  /// elements of any checkpoint. \error as above
  Status read(const TensorRef& ref, std::uint64_t first, std::span<std::byte> out) const;

 private:
  std::unique_ptr<CheckpointContent> content_;
};

/// The parts of the JSON components of `source` on which the id depends; only for components that `manifest` has.
/// \error as CheckpointReader::lr_schedule
Result<IdState> id_state(const CheckpointReader& source, const Manifest& manifest);

/// Opens a checkpoint for reading: CheckpointReader::open, or a function that also reads other formats.
using CheckpointOpener = std::function<Result<CheckpointReader>(Fs& fs, const std::string& path)>;

}  // namespace titan::ckpt
