#include "converters/gguf/gguf_bytes.h"

#include <bit>

#include "ckpt/base/integers.h"
#include "ckpt/model/leaf.h"
#include "converters/little_endian.h"

namespace titan::convert {
namespace {

constexpr std::uint64_t kAlignment = 32;
constexpr std::uint32_t kTypeU32 = 4, kTypeF32 = 6, kTypeText = 8;

std::uint64_t aligned(std::uint64_t at) { return ckpt::round_up(at, kAlignment); }

void put_string(std::string& out, std::string_view text) {
  put_le(out, text.size(), 8);
  out += text;
}

}  // namespace

std::uint64_t GgufEntry::bytes() const { return ckpt::element_count(shape) / type->elements * type->bytes; }

void GgufBytes::put_key(std::string_view key, std::uint32_t type) {
  put_string(values_, key);
  put_le(values_, type, 4);
  ++keys_;
}

void GgufBytes::put_u32(std::string_view key, std::uint64_t value) {
  put_key(key, kTypeU32);
  put_le(values_, value, 4);
}

void GgufBytes::put_f32(std::string_view key, double value) {
  put_key(key, kTypeF32);
  put_le(values_, std::bit_cast<std::uint32_t>(static_cast<float>(value)), 4);
}

void GgufBytes::put_text(std::string_view key, std::string_view value) {
  if (value.empty()) return;
  put_key(key, kTypeText);
  put_string(values_, value);
}

std::string GgufBytes::finish(std::vector<GgufEntry>& entries, std::uint64_t* end) const {
  std::string out = "GGUF";
  put_le(out, 3, 4);
  put_le(out, entries.size(), 8);
  put_le(out, keys_, 8);
  out += values_;
  std::uint64_t next = 0;
  for (GgufEntry& entry : entries) {
    put_string(out, entry.name);
    put_le(out, entry.shape.size(), 4);
    for (auto extent = entry.shape.rbegin(); extent != entry.shape.rend(); ++extent) put_le(out, *extent, 8);
    put_le(out, entry.type->id, 4);
    put_le(out, next, 8);
    entry.offset = next;
    next += aligned(entry.bytes());
  }
  out.resize(aligned(out.size()));
  for (GgufEntry& entry : entries) entry.offset += out.size();
  *end = out.size() + next;
  return out;
}

}  // namespace titan::convert
