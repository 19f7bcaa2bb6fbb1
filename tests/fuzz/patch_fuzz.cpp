// Any bytes as a patch, with its digests renewed, against a small base: it is refused, or what it gives is the target
// that it names. Each piece goes through the decoder whatever the base is.
#include "converters/patch/apply_patch.h"

#include <cstring>
#include <string>

#include "ckpt/format/difference_codec.h"
#include "tests/fuzz/bytes_file.h"
#include "tests/fuzz/checkpoint_input.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace {

using namespace titan::ckpt;
using namespace titan::convert;
using titan::fuzz::require;

constexpr const char* kJson = R"({"t":{"dtype":"BF16","shape":[16],"data_offsets":[0,32]}})";

std::string weights() {
  std::string header(kJson);
  header.append((8 - header.size() % 8) % 8, ' ');
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  return file + header + "0123456789abcdef0123456789abcdef";
}

std::uint32_t u32_at(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, &bytes[at], sizeof value);
  return value;
}

std::string digest_bytes(std::string_view text) {
  const Digest digest = digest_of(text);
  return {reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()};
}

/// Makes mark, ends and digests right, as far as there are bytes for them.
void mend(std::string& patch) {
  if (patch.size() < kPatchBegin + kPatchEnd) return;
  const std::string begin = patch_begin();
  patch.replace(0, begin.size(), begin);
  const std::size_t end = patch.size() - kPatchEnd;
  const std::size_t head = std::min<std::size_t>(u32_at(patch, end + 16), end - kPatchBegin);
  patch.replace(end, 16, digest_bytes(std::string_view(patch).substr(end - head, head)));
  for (std::size_t i = 0; i < 8; ++i) patch[end + 16 + i] = static_cast<char>(head >> (8 * i));
  patch.replace(end + 24, 8, "PCHTITAN");
  for (std::size_t at = kPatchBegin; at + kPatchRecord <= end - head;) {
    const std::size_t stored = std::min<std::size_t>(u32_at(patch, at + 20), end - head - at - kPatchRecord);
    patch.replace(at + 40, 16, digest_bytes(patch.substr(at, 40) + patch.substr(at + kPatchRecord, stored)));
    at += kPatchRecord + stored;
  }
}

void decode_all(std::string& patch) {
  auto reader = PatchReader::open(std::make_unique<titan::fuzz::BytesFile>(std::as_bytes(std::span(patch))), "patch");
  if (!reader.ok()) return;
  DifferenceDecoder decoder;
  std::vector<std::byte> stored, base, target;
  while (reader->more()) {
    const auto record = reader->next(stored);
    if (!record.ok()) return;
    base.resize(record->tensor == kNoTensor ? 0 : record->raw);
    target.resize(record->raw);
    (void)decoder.decode(stored, base, record->element_size, target);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string patch(reinterpret_cast<const char*>(data), size);
  mend(patch);
  decode_all(patch);
  testing::MemFs fs;
  require(fs.make_dir("/a").ok());
  require(testing::put_text(fs, "/a/model.safetensors", weights()).ok());
  require(testing::put_text(fs, "/p", patch).ok());
  const auto applied = apply_patch(fs, {.base = "/a", .patch = "/p", .output = "/b", .threads = 1});
  require(applied.ok() == fs.stat("/b").ok());
  if (!applied.ok()) return 0;
  const auto made = Contents::open(fs, "/b");
  require(made.ok());
  require((*made)->id().value_or(*content_id(**made, {}, {})) == applied->target.id);
  return 0;
}
