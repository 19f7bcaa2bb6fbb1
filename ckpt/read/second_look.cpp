#include "ckpt/read/second_look.h"

#include "ckpt/read/ema.h"
#include "ckpt/store/media_watch.h"

namespace titan::ckpt {
namespace {

Status read_leaves(const CheckpointReader& reader, const TensorRef& ref, LeafRange leaves, const CancelToken& stop,
                   std::vector<std::byte>& buffer) {
  const StoredTensor* stored = reader.manifest().stored(ref);
  if (stored == nullptr) return ok_status();  // not damage: the load fails with its own error
  const LeafGrid grid = reader.manifest().parameters[ref.index].meta.grid(reader.manifest().leaf_elements);
  for (std::uint64_t leaf = leaves.first; leaf < leaves.end(); ++leaf) {
    TITAN_RETURN_IF_ERROR(stop.check());
    buffer.resize(grid.length(leaf) * dtype_size(stored->dtype));
    TITAN_RETURN_IF_ERROR(reader.read(ref, {leaf, 1}, buffer));
  }
  return ok_status();
}

}  // namespace

Status read_part(Fs& fs, const std::string& path, const Manifest& manifest, const LoadedPart& part,
                 const CancelToken& stop) {
  Uncached store(fs);
  const CheckpointReader reader = CheckpointReader::known(store, path, manifest);
  const ParameterIndex by_name(manifest);
  // Leaves of another size are not damage: the load fails with its own error.
  if (part.owners.leaf_elements() != manifest.leaf_elements) return ok_status();
  std::vector<std::byte> buffer;
  for (const OwnedPiece& piece : part.owners.of(part.rank)) {
    const auto index = by_name.find(part.parameters[piece.parameter].name);
    if (!index) continue;
    TITAN_RETURN_IF_ERROR(read_leaves(reader, {*index, ""}, piece.leaves, stop, buffer));
    if (!part.moments) continue;
    for (const char* slot : {kExpAvg, kExpAvgSq, kEma})
      TITAN_RETURN_IF_ERROR(read_leaves(reader, {*index, slot}, piece.leaves, stop, buffer));
  }
  return ok_status();
}

}  // namespace titan::ckpt
