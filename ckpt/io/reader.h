#pragma once
// Reading a checkpoint: any leaf range of any tensor, by positioned reads, verified while reading. Never calls libhdf5.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "ckpt/base/fs.h"
#include "ckpt/format/manifest.h"
#include "ckpt/io/model_files.h"
#include "ckpt/model/data_position.h"
#include "ckpt/model/lr.h"
#include "ckpt/model/train_state.h"

namespace titan::ckpt {

/// Reads elements of stored tensors that do not lie in our files.
class ElementSource {
 public:
  virtual ~ElementSource() = default;
  /// Fills `out` with elements of `ref` from `first_element` on. Thread-safe.
  virtual Status read(const TensorRef& ref, std::uint64_t first_element, std::span<std::byte> out) const = 0;
};

/// A checkpoint of another format as one of ours: see CheckpointReader::view.
struct ForeignView {
  std::string path;
  Manifest manifest;  ///< no files and no pieces; its digests mean nothing
  std::optional<LrSchedule> lr;
  std::optional<DataPosition> data;
  std::optional<TrainState> train;
  std::shared_ptr<const ElementSource> tensors;
  std::vector<std::string> left_out;          ///< names of what the checkpoint holds and the view cannot show
  std::vector<ModelFilePlace> model_files;    ///< that came with the model
  std::vector<std::string> model_file_notes;  ///< of those that cannot be taken along, why
};

/// Reads and checks the manifest of a checkpoint folder alone, by one open and no stat. \error as
/// CheckpointReader::open
Result<Manifest> read_manifest(Fs& fs, const std::string& path);

class CheckpointReader {
 public:
  /// Opens a checkpoint folder: parses the manifest, checks its self-digest and version, and that every member exists
  /// with the exact size. \error kNotFound (no manifest there), kCorrupt, kIncompatible (newer format).
  static Result<CheckpointReader> open(Fs& fs, const std::string& path);
  /// A checkpoint that somebody else opened, perhaps on another machine: nothing is looked at here before it is read,
  /// and digests are checked as ever. `json`: texts of JSON components that came with the manifest; the others are read
  /// from the folder.
  static CheckpointReader known(Fs& fs, std::string path, Manifest manifest,
                                std::map<std::string, std::string> json = {});
  /// Makes a checkpoint of another format readable as if it were one of ours. Nothing is checked against digests.
  static CheckpointReader view(ForeignView foreign);
  ~CheckpointReader();
  CheckpointReader(CheckpointReader&&) noexcept;
  CheckpointReader& operator=(CheckpointReader&&) noexcept;

  const std::string& path() const;
  const Manifest& manifest() const;
  /// Gives the manifest away; nothing can be read afterwards.
  Manifest take_manifest() &&;
  bool foreign() const;                       ///< a view: id and digests are zeros
  std::vector<std::string> left_out() const;  ///< ForeignView::left_out; empty for ours

  /// The files that came with the model.
  std::vector<ModelFilePlace> model_files() const;
  std::vector<std::string> model_file_notes() const;  ///< ForeignView::model_file_notes

  /// The bytes of a JSON component, checked against its digest. \error kCorrupt, kNotFound when the component is absent
  Result<std::string> json_text(const char* component) const;
  /// The JSON components, each checked against its digest. \error kCorrupt, kNotFound when the component is absent.
  Result<LrSchedule> lr_schedule() const;
  Result<DataPosition> data_position() const;
  Result<TrainState> train_state() const;

  /// Reads `leaves` of `ref` into `out` (exactly their raw bytes), each leaf checked against its digest.
  /// Thread-safe. \error kCorrupt naming file, tensor, leaf, offset; kNotFound when the tensor is absent.
  Status read(const TensorRef& ref, LeafRange leaves, std::span<std::byte> out) const;

 private:
  struct Impl;
  explicit CheckpointReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Opens a checkpoint to be looked at: CheckpointReader::open, or something that knows more formats.
using CheckpointOpener = std::function<Result<CheckpointReader>(Fs& fs, const std::string& path)>;

}  // namespace titan::ckpt
