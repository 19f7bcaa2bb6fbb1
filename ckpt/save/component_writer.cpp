#include "ckpt/save/component_writer.h"

#include <utility>

#include "ckpt/format/checkpoint_id.h"
#include "ckpt/format/manifest_builder.h"
#include "ckpt/format/member_names.h"
#include "ckpt/save/shard_writer.h"

namespace titan::ckpt {

Status write_component(Fs& fs, const std::string& folder, const char* component, const std::vector<TensorRef>& refs,
                       const ElementProvider& elements, Manifest& manifest, unsigned threads) {
  std::vector<std::size_t> chosen;  // tensors without elements have no piece
  std::vector<ShardPiece> pieces;
  for (std::size_t i = 0; i < refs.size(); ++i) {
    const LeafGrid grid = manifest.parameters[refs[i].index].meta.grid(manifest.leaf_elements);
    StoredTensor* stored = manifest.stored(refs[i]);
    if (grid.count() == 0) {
      stored->digest = tensor_digest({});
      continue;
    }
    chosen.push_back(i);
    pieces.push_back({manifest.stored_name(refs[i]), stored->dtype, grid, {0, grid.count()}});
  }
  ManifestBuilder builder(manifest);
  if (!pieces.empty()) {
    const auto leaf = [&](std::size_t piece, std::uint64_t index, std::span<std::byte> scratch) {
      return elements(chosen[piece], pieces[piece].grid.begin(index), scratch);
    };
    TITAN_ASSIGN_OR_RETURN(WrittenShard shard,
                           write_shard(fs, folder, shard_path(component, 0), pieces, leaf, {threads}));
    const std::uint32_t file = builder.add_file(std::move(shard.file));
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const TensorRef& ref = refs[chosen[i]];
      builder.add_piece(ref, shard.pieces[i], file);
      manifest.stored(ref)->digest = tensor_digest(shard.leaves[i]);
    }
  }
  builder.sum_up(component);
  return ok_status();
}

}  // namespace titan::ckpt
