// Any bytes as manifest.json, with a self-digest that holds: what is accepted keeps the rules that readers rely on, and
// is written as a text that reads back as the same manifest.
#include "ckpt/format/checkpoint_id.h"
#include "ckpt/format/manifest_codec.h"
#include "ckpt/format/manifest_decode.h"
#include "ckpt/plan/reshard_plan.h"
#include "tests/fuzz/checkpoint_input.h"

namespace {

using namespace titan::ckpt;
using titan::fuzz::require;

void check_places(const Manifest& manifest) {
  std::vector<std::uint64_t> rows(manifest.files.size(), 0);
  const auto check = [&](const ParameterRecord& record, const StoredTensor& tensor) {
    const LeafGrid grid = record.meta.grid(manifest.leaf_elements);
    std::uint64_t next = 0;
    for (const Piece& piece : tensor.pieces) {
      require(piece.file < manifest.files.size() && manifest.files[piece.file].role == FileRole::kShard);
      const FileEntry& file = manifest.files[piece.file];
      require(piece.first_leaf == next && piece.row + piece.leaf_count <= file.table_rows &&
              piece.offset <= file.bytes);
      next += piece.leaf_count;
      rows[piece.file] += piece.leaf_count;
      if (piece.codec == Codec::kRaw)
        require((grid.begin(next) - grid.begin(piece.first_leaf)) * dtype_size(tensor.dtype) <=
                file.bytes - piece.offset);
    }
    require(next == grid.count());
  };
  for (const ParameterRecord& record : manifest.parameters) {
    if (record.model) check(record, *record.model);
    for (const SlotTensor& slot : record.slots) check(record, slot.tensor);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const FileEntry& file = manifest.files[i];
    require(check_member_path(file.path).ok());
    if (file.role == FileRole::kShard)
      require(rows[i] == file.table_rows && file.table_rows <= file.bytes / kLeafRowBytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto as_it_is = decode_manifest("input", text); !as_it_is.ok()) require(!as_it_is.status().message.empty());
  const auto sealed = with_self_digest(text);
  if (!sealed.ok()) return 0;
  const auto manifest = decode_manifest("input", *sealed);
  if (!manifest.ok()) {
    require(manifest.status().code == Code::kCorrupt || manifest.status().code == Code::kIncompatible);
    return 0;
  }
  check_places(*manifest);
  const auto again = decode_manifest("again", encode_manifest(*manifest));
  Manifest same = *manifest;
  if (again.ok()) same.minor = again->minor;  // the lowest that will do
  require(again.ok() && *again == same);
  static_cast<void>(component_digest(*manifest, kModel));
  static_cast<void>(component_digest(*manifest, kOptimizer));
  std::uint64_t leaves = 0;
  for (const FileEntry& file : manifest->files) leaves += file.table_rows;
  if (leaves > 4096) return 0;
  for (const ReshardTarget& target :
       {ReshardTarget{2u, 2u, "", Codec::kZstd}, ReshardTarget{3u, std::nullopt, "", std::nullopt}}) {
    const auto plan = plan_reshard(*manifest, target);
    if (plan.ok()) static_cast<void>(plan_moves(*manifest, *plan, std::uint64_t{64} << 20).ok());
  }
  return 0;
}
