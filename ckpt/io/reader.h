#pragma once
// Reading a checkpoint: any leaf range of any tensor, by positioned reads, verified while reading. Never calls libhdf5.
#include <memory>
#include <string>

#include "ckpt/base/fs.h"
#include "ckpt/format/manifest.h"
#include "ckpt/model/schedule.h"

namespace titan::ckpt {

class CheckpointReader {
 public:
  /// Opens a checkpoint folder: parses the manifest, checks its self-digest and version, and that every member exists
  /// with the exact size. \error kNotFound (no manifest there), kCorrupt, kIncompatible (newer format).
  static Result<CheckpointReader> open(Fs& fs, const std::string& path);
  ~CheckpointReader();
  CheckpointReader(CheckpointReader&&) noexcept;
  CheckpointReader& operator=(CheckpointReader&&) noexcept;

  const std::string& path() const;
  const Manifest& manifest() const;
  /// Gives the manifest away; nothing can be read afterwards.
  Manifest take_manifest() &&;

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

}  // namespace titan::ckpt
