#include "ckpt/read/virtual_model.h"

#include <algorithm>
#include <utility>

#include "ckpt/base/files.h"
#include "ckpt/base/mutex.h"
#include "ckpt/base/path.h"
#include "ckpt/format/manifest_builder.h"
#include "ckpt/format/member_names.h"

namespace titan::ckpt {
namespace {

using Bytes = std::shared_ptr<const std::vector<std::byte>>;

constexpr std::string_view kFolder = "model/";

Result<FileEntry> write_bytes(Fs& fs, const std::string& folder, const std::vector<std::byte>& bytes) {
  FileEntry entry = whole_file(kVirtualModel, FileRole::kDerived, bytes);
  TITAN_RETURN_IF_ERROR(write_member(fs, join_path(folder, entry.path), bytes));
  return entry;
}

// Returns the bytes for `tensors`: those of the last call of this process if the tensors are equal, else newly built
// ones.
Result<Bytes> build_or_recall(std::vector<VirtualTensor> tensors) {
  static Mutex mutex;
  static std::vector<VirtualTensor> known;
  static Bytes newest;
  const MutexLock lock(mutex);
  if (newest && known == tensors) return newest;
  TITAN_ASSIGN_OR_RETURN(std::vector<std::byte> bytes, make_virtual_file(tensors));
  known = std::move(tensors);
  newest = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return newest;
}

}  // namespace

Result<std::vector<VirtualTensor>> virtual_tensors(const Manifest& manifest) {
  if (!manifest.component(kModel))
    return invalid("the checkpoint has no component 'model', so it can have no " + std::string(kVirtualModel));
  std::vector<VirtualTensor> tensors;
  for (const ParameterRecord& record : manifest.parameters) {
    VirtualTensor tensor{record.meta.name, record.model->dtype, record.meta.shape, manifest.leaf_elements, {}};
    for (const Piece& piece : record.model->pieces) {
      const std::string& path = manifest.files[piece.file].path;
      // Names without a folder: HDF5 looks for them next to model.h5, wherever the checkpoint is.
      if (!path.starts_with(kFolder) || path.find('/', kFolder.size()) != std::string::npos)
        return invalid("leaves of '" + tensor.name + "' lie in " + path + ", expected a file in " +
                       std::string(kFolder));
      tensor.pieces.push_back({path.substr(kFolder.size()), {piece.first_leaf, piece.leaf_count}});
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::vector<VirtualTensor> virtual_tensors(const Snapshot& snapshot) {
  std::vector<VirtualTensor> tensors;
  for (const ParameterMeta& meta : snapshot.parameters)
    tensors.push_back({meta.name, snapshot.dtype, meta.shape, snapshot.leaf_elements, {}});
  const std::shared_ptr<const Ownership> ownership = ownership_of(snapshot);
  for (std::uint32_t rank = 0; rank < snapshot.mesh.world(); ++rank) {
    const std::string file = shard_path(kModel, maker_of(snapshot, rank)).substr(kFolder.size());
    for (const OwnedPiece& piece : ownership->of(rank)) tensors[piece.parameter].pieces.push_back({file, piece.leaves});
  }
  return tensors;  // ranks of a stage own ascending leaves, so the pieces ascend
}

Result<FileEntry> write_virtual_model(Fs& fs, const std::string& folder, const Manifest& manifest) {
  TITAN_ASSIGN_OR_RETURN(const std::vector<VirtualTensor> tensors, virtual_tensors(manifest));
  TITAN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, make_virtual_file(tensors));
  return write_bytes(fs, folder, bytes);
}

// If the system has no thread, the bytes are built when they are needed.
VirtualModelBuild::VirtualModelBuild(const Snapshot& snapshot)
    : bytes_(std::async(std::launch::async | std::launch::deferred,
                        [&snapshot] { return build_or_recall(virtual_tensors(snapshot)); })) {}

Result<FileEntry> VirtualModelBuild::write(Fs& fs, const std::string& folder) {
  TITAN_ASSIGN_OR_RETURN(const Bytes bytes, bytes_.get());
  return write_bytes(fs, folder, *bytes);
}

}  // namespace titan::ckpt
