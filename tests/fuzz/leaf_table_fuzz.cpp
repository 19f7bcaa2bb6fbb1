// Any bytes as the leaf table of a shard with raw and compressed leaves, with the table's digest renewed: whatever the
// rows say, reading, verifying and moving leaves ends with an answer, and what verify calls whole can be read and
// moved.
#include <string>

#include "ckpt/format/manifest_codec.h"
#include "ckpt/ops/reshard.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/verifier.h"
#include "tests/fuzz/checkpoint_input.h"
#include "tests/support/checkpoints.h"

namespace {

using namespace titan::ckpt;
using titan::fuzz::require;

/// A checkpoint of one rank in memory; its manifest and the place of the table are known.
struct Target {
  testing::MemFs fs;
  std::string path;
  Manifest manifest;
};

Target& target(Codec codec) {
  static const auto make = [](Codec of) {
    auto* made = new Target;
    Snapshot snapshot = testing::make_snapshot({{"a", {6, 8}}, {"b", {5}}, {"c", {}}}, {}, 16, 40);
    snapshot.codec = of;
    snapshot.slots = {kExpAvg};
    const auto published = testing::save(made->fs, "/run/checkpoint", snapshot);
    require(published.ok());
    made->path = published->path;
    made->manifest = CheckpointReader::open(made->fs, made->path)->manifest();
    return made;
  };
  static Target &raw = *make(Codec::kRaw), &zstd = *make(Codec::kZstd);
  return codec == Codec::kRaw ? raw : zstd;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  Target& it = target(data[0] % 2 == 0 ? Codec::kRaw : Codec::kZstd);
  Manifest manifest = it.manifest;
  const auto entry = std::find_if(manifest.files.begin(), manifest.files.end(),
                                  [](const FileEntry& file) { return file.role == FileRole::kShard; });
  // Bytes that the input does not give are those of the checkpoint.
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  const std::string shard = join_path(it.path, entry->path);
  std::vector<std::byte> table(entry->table_rows * kLeafRowBytes), before(table.size());
  require((*it.fs.open_read(shard))->pread(entry->table_offset, before).ok());
  table = before;
  std::copy_n(bytes.begin(), std::min(bytes.size(), table.size()), table.begin());
  require(it.fs.overwrite(shard, entry->table_offset, table).ok());
  entry->table = digest_of(table);
  titan::fuzz::replace_file(it.fs, join_path(it.path, kManifestFile), encode_manifest(manifest));

  const auto report = verify_checkpoint(it.fs, it.path, {}, {}, 1);
  require(report.ok());
  bool all_read = true;
  const auto reader = CheckpointReader::open(it.fs, it.path);
  require(reader.ok());
  for (std::uint32_t i = 0; i < manifest.parameters.size(); ++i) {
    const LeafGrid grid = manifest.parameters[i].meta.grid(manifest.leaf_elements);
    std::vector<std::byte> out(grid.elements * dtype_size(manifest.parameters[i].model->dtype));
    const Status read = reader->read({i, ""}, {0, grid.count()}, out);
    require(read.ok() || read.code == Code::kCorrupt);
    all_read = all_read && read.ok();
  }
  require(all_read || !report->damage.empty());
  // A move costs far more than all else, and ends at the first wrong row.
  if (!report->damage.empty() && !(data[0] & 4)) {
    require(it.fs.overwrite(shard, entry->table_offset, before).ok());
    return 0;
  }
  ReshardOptions options;
  options.source = it.path;
  options.dst = "/moved";
  options.target = {2u, 1u, "", data[0] & 2 ? std::optional(Codec::kRaw) : std::nullopt};
  const auto moved = reshard_checkpoint(it.fs, options);
  require(moved.ok() || !report->damage.empty());
  if (moved.ok()) {
    const auto checked = verify_checkpoint(it.fs, "/moved", {}, {}, 1);
    require(moved->id == manifest.id && checked.ok() && checked->damage.empty());
  }
  static_cast<void>(remove_tree(it.fs, "/moved").ok());
  require(it.fs.overwrite(shard, entry->table_offset, before).ok());
  return 0;
}
