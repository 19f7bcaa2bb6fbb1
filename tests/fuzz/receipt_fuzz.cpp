// Any bytes as the receipt of a rank, with the digest that they should have: what is accepted is encoded to the same
// bytes; and rank 0, which is given it for a save of one rank, either says why it cannot be or publishes a checkpoint
// that opens.
#include <string>

#include "ckpt/format/member_names.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/snapshot.h"
#include "ckpt/save/commit.h"
#include "ckpt/save/receipt.h"
#include "ckpt/save/writer.h"
#include "tests/fuzz/checkpoint_input.h"
#include "tests/support/checkpoints.h"

namespace {

using namespace titan::ckpt;
using titan::fuzz::require;

const Snapshot& snapshot() {
  static const Snapshot value = testing::make_snapshot({{"a", {3, 4}}, {"b", {}}}, {}, 8, 40);
  return value;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  const Digest digest = digest_of(std::string_view(bytes));
  bytes.append(reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size());
  const auto receipt = decode_receipt(bytes);
  if (!receipt.ok()) return 0;
  require(encode_receipt(*receipt) == bytes);
  testing::MemFs fs;
  require(make_dirs(fs, "/run/checkpoint").ok());
  const auto tmp = begin_save(fs, "/run/checkpoint", snapshot(), "0123456789ab");
  require(tmp.ok());
  for (const FileEntry& file : receipt->files) {
    if (!check_member_path(file.path).ok() || file.bytes > (std::uint64_t{1} << 40)) continue;
    const std::string path = join_path(*tmp, file.path);
    if (!make_dirs(fs, parent_path(path)).ok()) continue;
    if (auto made = fs.create(path); made.ok()) require((*made)->truncate(file.bytes).ok());
  }
  const auto published = commit_save(fs, "/run/checkpoint", *tmp, snapshot(), {*receipt});
  if (published.ok())
    require(CheckpointReader::open(fs, published->path).ok());
  else
    require(!published.status().message.empty() && !fs.stat("/run/checkpoint/step-00000040").ok());
  return 0;
}
