// Any bytes as a whole checkpoint folder (checkpoint_input.h), as it is and with all digests made right: opened,
// verified, every tensor read, resharded. What verify calls whole can be read and moved, and stays the same state.
#include <string>

#include "ckpt/format/manifest_codec.h"
#include "ckpt/format/manifest_decode.h"
#include "ckpt/ops/cat.h"
#include "ckpt/ops/inspect.h"
#include "ckpt/ops/reshard.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/verifier.h"
#include "tests/fuzz/checkpoint_input.h"

namespace {

using namespace titan::ckpt;
using titan::fuzz::require;

const std::string kStep = "/run/checkpoint/step-00000010";
constexpr std::uint64_t kMostFile = std::uint64_t{64} << 20;  // sparse: what a table may claim
constexpr std::uint64_t kMostLeaves = 2048;

std::uint64_t leaves_of(const Manifest& manifest) {
  std::uint64_t leaves = 0;
  for (const FileEntry& file : manifest.files) leaves += file.table_rows;
  return leaves;
}

// Whether everything of the checkpoint could be read.
bool read_all(testing::MemFs& fs) {
  const auto reader = CheckpointReader::open(fs, kStep);
  if (!reader.ok()) {
    require(reader.status().code == Code::kCorrupt || reader.status().code == Code::kIncompatible ||
            reader.status().code == Code::kNotFound);
    return false;
  }
  bool ok = true;
  for (const Status& status :
       {reader->lr_schedule().status(), reader->data_position().status(), reader->train_state().status()})
    ok = ok && (status.ok() || status.code == Code::kNotFound);
  if (leaves_of(reader->manifest()) > kMostLeaves) return ok;
  for (const TensorRow& row : tensor_rows(reader->manifest())) {
    CatOptions options;
    options.checkpoint = kStep;
    options.tensor = row.name;
    const auto shown = cat_tensor(fs, options);
    if (!shown.ok()) require(!shown.status().message.empty());
    ok = ok && shown.ok();
  }
  return ok;
}

void move(testing::MemFs& fs, const Manifest& manifest, bool whole) {
  ReshardOptions options;
  options.source = kStep;
  options.dst = "/moved";
  options.target = {2u, 1u, "", Codec::kZstd};
  const auto moved = reshard_checkpoint(fs, options);
  if (!moved.ok()) return require(!moved.status().message.empty());
  const auto checked = verify_checkpoint(fs, "/moved", {}, {}, 1);
  require(checked.ok() && checked->damage.empty());
  if (whole) require(moved->id == manifest.id);
}

void use(testing::MemFs& fs) {
  const auto report = verify_checkpoint(fs, kStep, {}, {}, 1);
  const bool read = read_all(fs);
  if (!report.ok() || !report->damage.empty()) return;
  require(read);
  const auto manifest = CheckpointReader::open(fs, kStep);
  require(manifest.ok());
  if (leaves_of(manifest->manifest()) <= kMostLeaves) move(fs, manifest->manifest(), true);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  testing::MemFs fs;
  titan::fuzz::unpack(std::as_bytes(std::span(data, size)), fs, kStep, kMostFile);
  const std::string path = join_path(kStep, kManifestFile);
  const auto text = read_file(fs, path, kMaxManifestBytes);
  if (!text.ok()) return 0;
  use(fs);
  const auto sealed = with_self_digest(std::string(titan::fuzz::as_text(*text)));
  if (!sealed.ok()) return 0;
  auto manifest = decode_manifest("input", *sealed);
  if (!manifest.ok()) return 0;
  titan::fuzz::Renewal(fs, kStep, *manifest).run();
  titan::fuzz::replace_file(fs, path, encode_manifest(*manifest));
  use(fs);
  return 0;
}
