#pragma once
// `model/model.h5`: an HDF5 file of virtual datasets, every parameter by name and full shape over the shards. A derived
// file: it can be rebuilt from the manifest, and nothing of Titan reads it. \source FORMAT.md, "model/model.h5"
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/format/manifest.h"
#include "ckpt/format/parity_file.h"
#include "ckpt/format/virtual_file.h"
#include "ckpt/read/snapshot.h"

namespace titan::ckpt {

inline constexpr const char* kVirtualModel = "model/model.h5";
/// True for a derived member that is not made from the others: a file that came with a converted model. \source
/// FORMAT.md, "derived"
inline bool came_with_model(const FileEntry& file) {
  return file.role == FileRole::kDerived && file.path != kVirtualModel && !is_parity(file.path);
}

/// The datasets for the component "model" of `manifest`. \error kInvalid (no such component, or a shard outside of
/// model/)
Result<std::vector<VirtualTensor>> virtual_tensors(const Manifest& manifest);
/// The same for a checkpoint that write_rank() will write, from its plan alone.
std::vector<VirtualTensor> virtual_tensors(const Snapshot& snapshot);

/// Creates `<folder>/model/model.h5` for the component "model" of `manifest` (files, shapes and pieces are used),
/// datasync and close, and returns its member entry. The folder's names are not synced. \error kInvalid (no component
/// "model"), kFailed
Result<FileEntry> write_virtual_model(Fs& fs, const std::string& folder, const Manifest& manifest);

/// Builds the bytes in a thread of its own while shards are being written, without I/O. Saves of a run have the same
/// plan as a rule: the newest bytes of the process are kept, and only a new plan is built.
class VirtualModelBuild {
 public:
  explicit VirtualModelBuild(const Snapshot& snapshot);
  /// Waits for the bytes and writes the file as write_virtual_model does. Once.
  Result<FileEntry> write(Fs& fs, const std::string& folder);

 private:
  using Bytes = std::shared_ptr<const std::vector<std::byte>>;
  std::future<Result<Bytes>> bytes_;
};

}  // namespace titan::ckpt
