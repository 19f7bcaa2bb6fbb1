#include "tests/support/manifests.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "ckpt/format/checkpoint_id.h"
#include "ckpt/format/manifest_codec.h"
#include "ckpt/format/member_names.h"
#include "ckpt/format/shard_file.h"

namespace titan::ckpt::testing {
namespace {

struct Cursor {
  std::uint64_t offset = 4096, rows = 0;
};

// Places `leaves` of a tensor at the end of the file of `rank` and returns the piece.
Piece place(Manifest& manifest, std::map<std::string, Cursor>& cursors, const char* component, std::uint32_t rank,
            const LeafGrid& grid, LeafRange leaves) {
  const std::string path = shard_path(component, rank);
  const auto file = std::find_if(manifest.files.begin(), manifest.files.end(),
                                 [&](const FileEntry& entry) { return entry.path == path; });
  Cursor& cursor = cursors[path];
  const Piece piece{static_cast<std::uint32_t>(file - manifest.files.begin()),
                    leaves.first,
                    leaves.count,
                    cursor.offset,
                    cursor.rows,
                    Codec::kRaw};
  cursor.offset += (grid.begin(leaves.end()) - grid.begin(leaves.first)) * 4;
  cursor.rows += leaves.count;
  return piece;
}

// Every tensor is halved over two neighbouring ranks when it has two leaves or more.
StoredTensor tensor(Manifest& manifest, std::map<std::string, Cursor>& cursors, const char* component,
                    const ParameterMeta& meta, std::uint32_t ranks, std::uint32_t rank) {
  const LeafGrid grid = meta.grid(manifest.leaf_elements);
  StoredTensor stored;
  stored.chunk = grid.chunk_extent();
  stored.digest = digest_of(meta.name);
  const std::uint64_t half = grid.count() / 2;
  if (half > 0) stored.pieces.push_back(place(manifest, cursors, component, rank, grid, {0, half}));
  stored.pieces.push_back(place(manifest, cursors, component, (rank + 1) % ranks, grid, {half, grid.count() - half}));
  return stored;
}

Manifest build(const std::vector<ParameterMeta>& parameters, Mesh mesh, std::uint64_t leaf) {
  Manifest manifest;
  manifest.id = digest_of("id");
  manifest.step = 40;
  manifest.created = "2026-01-02T03:04:06Z";
  manifest.writer = "titan-test 0.1.0";
  manifest.mesh = mesh;
  manifest.leaf_elements = leaf;
  manifest.config = {{"model.name", "\"llama3\""}, {"training.steps", "100"}};
  for (const char* name : {kDataloader, kLrScheduler, kTrainState}) {
    FileEntry file;
    file.path = json_path(name);
    file.role = FileRole::kJson;
    file.bytes = 300;
    file.whole = digest_of(std::string_view(name));
    manifest.files.push_back(file);
  }
  for (const char* component : {kModel, kOptimizer}) {
    for (std::uint32_t rank = 0; rank < mesh.world(); ++rank) {
      FileEntry file;
      file.path = shard_path(component, rank);
      file.table = digest_of("table");
      file.envelope = digest_of("envelope");
      manifest.files.push_back(file);
    }
  }
  // json files 0..2, then the shards; keep model/shard-00000.h5 at index 2 so that tests can name pieces in it.
  std::swap(manifest.files[2], manifest.files[3]);

  std::map<std::string, Cursor> cursors;
  std::uint32_t rank = 0;
  for (const ParameterMeta& meta : parameters) {
    ParameterRecord record{meta, tensor(manifest, cursors, kModel, meta, mesh.world(), rank), {}, 40};
    for (const char* slot : {kExpAvg, kExpAvgSq})
      record.slots.push_back({slot, tensor(manifest, cursors, kOptimizer, meta, mesh.world(), rank)});
    manifest.parameters.push_back(std::move(record));
    rank = (rank + 1) % mesh.world();
  }
  for (FileEntry& file : manifest.files) {
    if (file.role != FileRole::kShard) continue;
    const Cursor& cursor = cursors[file.path];
    file.table_offset = cursor.offset;
    file.table_rows = cursor.rows;
    file.bytes = cursor.offset + cursor.rows * kLeafRowBytes;
  }
  for (const char* name : {kModel, kOptimizer}) {
    ComponentEntry entry{name, component_digest(manifest, name)};
    std::set<std::uint32_t> files;
    for (const ParameterRecord& record : manifest.parameters) {
      std::vector<const StoredTensor*> tensors{&*record.model};
      if (name == std::string_view(kOptimizer)) tensors = {&record.slots[0].tensor, &record.slots[1].tensor};
      for (const StoredTensor* stored : tensors) {
        entry.bytes += element_count(record.meta.shape) * 4;
        for (const Piece& piece : stored->pieces) files.insert(piece.file);
      }
    }
    for (const std::uint32_t file : files) entry.stored_bytes += manifest.files[file].bytes;
    entry.files = static_cast<std::uint32_t>(files.size());
    manifest.components.push_back(entry);
  }
  for (const char* name : {kLrScheduler, kDataloader, kTrainState})
    manifest.components.push_back({name, digest_of(std::string_view(name)), 300, 300, 1});
  return manifest;
}

}  // namespace

Manifest small_manifest() {
  return build({{"tok_embeddings.weight", {40, 10}, 0}, {"norm.weight", {40}, 1}}, {2, 2, 1}, 100);
}

Manifest large_manifest(std::uint64_t stored_tensors, std::uint32_t ranks) {
  std::vector<ParameterMeta> parameters;
  for (std::uint64_t i = 0; i < (stored_tensors + 2) / 3; ++i)
    parameters.push_back({"layers." + std::to_string(i / 9) + ".feed_forward.w" + std::to_string(i % 9) + ".weight",
                          {4096, i % 9 == 0 ? 1U : 1024U},
                          0});
  return build(parameters, {1, ranks, 1}, kDefaultLeafElements);
}

std::string edited(const std::string& from, const std::string& to) {
  std::string text = encode_manifest(small_manifest());
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::invalid_argument("the manifest does not contain " + from);
  return with_self_digest(text.replace(at, from.size(), to)).value();
}

}  // namespace titan::ckpt::testing
