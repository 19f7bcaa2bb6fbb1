#pragma once
// `model/model.h5`: an HDF5 file of virtual datasets that shows every parameter of the shards by name and full shape.
// It is a derived file: it can be rebuilt from the manifest, and Titan itself does not read it.
// \source FORMAT.md, "model/model.h5"
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "ckpt/format/manifest.h"
#include "ckpt/format/parity_file.h"
#include "ckpt/format/virtual_file.h"
#include "ckpt/read/snapshot.h"

namespace titan::ckpt {

class Fs;

inline constexpr const char* kVirtualModel = "model/model.h5";
/// True for a derived member that cannot be rebuilt from the other members: a file that came with the model.
/// \source FORMAT.md, "derived"
inline bool came_with_model(const FileEntry& file) {
  return file.role == FileRole::kDerived && file.path != kVirtualModel && !is_parity(file.path);
}

/// The datasets for component "model" of `manifest`. \error kInvalid (no such component, or a shard that is not in
/// model/)
Result<std::vector<VirtualTensor>> virtual_tensors(const Manifest& manifest);
/// The datasets of the checkpoint that write_rank() will write for `snapshot`.
std::vector<VirtualTensor> virtual_tensors(const Snapshot& snapshot);

/// Creates `<folder>/model/model.h5` for component "model" of `manifest` (uses files, shapes and pieces), makes it
/// durable and returns its member entry. The folder's names are not synced. \error as virtual_tensors(); kFailed
Result<FileEntry> write_virtual_model(Fs& fs, const std::string& folder, const Manifest& manifest);

/// Builds the bytes of model/model.h5 without I/O, in its own thread, while shards are written. Most saves of a run
/// give the same bytes, so the process keeps the newest bytes, and builds them again only if the datasets differ.
class VirtualModelBuild {
 public:
  /// `snapshot` must outlive this object.
  explicit VirtualModelBuild(const Snapshot& snapshot);
  /// Waits for the bytes and writes the file as write_virtual_model() does. Call it once.
  Result<FileEntry> write(Fs& fs, const std::string& folder);

 private:
  using Bytes = std::shared_ptr<const std::vector<std::byte>>;
  std::future<Result<Bytes>> bytes_;
};

}  // namespace titan::ckpt
