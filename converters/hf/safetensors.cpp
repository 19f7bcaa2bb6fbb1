#include "converters/hf/safetensors.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "ckpt/base/file_kind.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/printable.h"
#include "ckpt/base/text.h"
#include "ckpt/format/json_fields.h"
#include "ckpt/format/json_writer.h"
#include "ckpt/model/leaf.h"
#include "converters/little_endian.h"
#include "converters/other_programs.h"

namespace titan::convert {

using ckpt::corrupt;
using ckpt::DType;
using ckpt::JsonField;
using ckpt::JsonReader;
using ckpt::Result;
using ckpt::Status;

namespace {

struct Element {
  const char* name;
  std::uint64_t bits;
  std::optional<DType> ours;
};
// All element types of the format, in its own ascending order.
constexpr Element kElements[] = {
    {"BOOL", 8, {}},
    {"F4", 4, {}},
    {"F6_E2M3", 6, {}},
    {"F6_E3M2", 6, {}},
    {"U8", 8, DType::kU8},
    {"I8", 8, {}},
    {"F8_E5M2", 8, {}},
    {"F8_E4M3", 8, {}},
    {"F8_E8M0", 8, {}},
    {"F8_E4M3FNUZ", 8, {}},
    {"F8_E5M2FNUZ", 8, {}},
    {"I16", 16, {}},
    {"U16", 16, {}},
    {"F16", 16, DType::kF16},
    {"BF16", 16, DType::kBF16},
    {"I32", 32, DType::kI32},
    {"U32", 32, {}},
    {"F32", 32, DType::kF32},
    {"C64", 64, {}},
    {"F64", 64, DType::kF64},
    {"I64", 64, DType::kI64},
    {"U64", 64, {}},
};

const Element* find_element(std::string_view name) {
  const auto at =
      std::ranges::find(kElements, name, [](const Element& element) { return std::string_view(element.name); });
  return at == std::end(kElements) ? nullptr : &*at;
}

const Element& element_of(DType dtype) { return *std::ranges::find(kElements, std::optional(dtype), &Element::ours); }

std::string quoted(std::string_view name) { return "tensor '" + std::string(name) + "'"; }

// Decodes the entries in the file's order, and checks each separately.
class Decoder {
 public:
  Decoder(const std::string& what, std::string_view json, std::uint64_t buffer_bytes, bool float8)
      : what_(what), json_(what, json), buffer_bytes_(buffer_bytes), float8_(float8) {}

  Result<SafetensorsHeader> run() {
    std::unordered_set<std::string_view> names;
    json_.object([&](std::string_view key) {
      if (!names.insert(key).second) json_.fail("key '" + std::string(key) + "' is there twice");
      if (key == "__metadata__") {
        metadata();
      } else {
        entry(key);
      }
    });
    TITAN_RETURN_IF_ERROR(json_.finish());
    TITAN_RETURN_IF_ERROR(tile());
    // Checked last, so that a damaged file is reported as damaged, not as unsupported.
    if (!unsupported_.ok()) return unsupported_;
    return std::move(header_);
  }

 private:
  // Reads `__metadata__`. Values that are not strings are skipped, although the format forbids them: some programs
  // write null, numbers and lists.
  void metadata() {
    if (json_.peek() != '{') return json_.skip();
    std::unordered_set<std::string_view> keys;
    json_.object([&](std::string_view key) {
      if (!keys.insert(key).second) json_.fail("key '" + std::string(key) + "' is twice in __metadata__");
      if (json_.peek() != '"') return json_.skip();
      header_.metadata.emplace_back(key, json_.text());
    });
  }

  void entry(std::string_view name) {
    SafetensorsEntry entry;
    entry.name = name;
    std::string_view dtype;
    std::size_t offsets = 0;
    const auto shape = [&] { json_.array([&](std::size_t) { entry.shape.push_back(json_.u64()); }); };
    const auto ends = [&] {
      json_.array([&](std::size_t i) {
        (i == 0 ? entry.begin : entry.end) = json_.u64();
        offsets = i + 1;
      });
    };
    read_object(json_, "the entry of a tensor", JsonField{"dtype", dtype}, JsonField{"shape", shape},
                JsonField{"data_offsets", ends});
    if (!json_.ok()) return;
    if (const std::string wrong = check(entry, dtype, offsets); !wrong.empty())
      return json_.fail(quoted(name) + ": " + wrong);
    header_.entries.push_back(std::move(entry));
  }

  // Returns what is wrong with one entry; empty if nothing is.
  std::string check(SafetensorsEntry& entry, std::string_view dtype, std::size_t offsets) {
    if (offsets != 2) return "data_offsets has " + std::to_string(offsets) + " numbers, expected 2";
    if (entry.begin > entry.end || entry.end > buffer_bytes_) {
      return "data_offsets [" + std::to_string(entry.begin) + ", " + std::to_string(entry.end) +
             "] do not lie in the buffer of " + std::to_string(buffer_bytes_) + " bytes";
    }
    const Element* element = find_element(dtype);
    if (element == nullptr) return "dtype '" + std::string(dtype) + "' is not known";
    std::uint64_t count = 0;
    if (entry.shape.size() > 32)
      return "it has " + std::to_string(entry.shape.size()) + " dimensions, expected at most 32";
    if (!ckpt::checked_elements(entry.shape, &count) || count > (std::uint64_t{1} << 63) / element->bits)
      return "its shape overflows";
    if (count * element->bits % 8 != 0) return "its elements do not end on a byte";
    if (count * element->bits / 8 != entry.end - entry.begin) {
      return "its shape has " + std::to_string(count * element->bits / 8) + " bytes, its data_offsets " +
             std::to_string(entry.end - entry.begin);
    }
    if (element->ours) {
      entry.dtype = *element->ours;
    } else if (float8_ && dtype == "F8_E4M3") {
      entry.dtype = DType::kU8;
      entry.float8 = true;
    } else if (unsupported_.ok()) {
      unsupported_ =
          ckpt::unsupported(what_ + ": " + quoted(entry.name) + " has elements of type " + std::string(dtype) +
                            "; a checkpoint can hold F32, BF16, F16, F64, I64, I32, U8")
              .with_hint(
                  "types of 8 bits and less are those of quantised weights: take the model that they were made "
                  "from, or dequantize() it in transformers, then save_pretrained(OUT)");
    }
    return "";
  }

  Status tile() {
    std::ranges::sort(header_.entries, [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    std::uint64_t next = 0;
    for (const SafetensorsEntry& entry : header_.entries) {
      if (entry.begin != next) {
        return corrupt(what_ + ": " + quoted(entry.name) + " begins at " + std::to_string(entry.begin) +
                       " of the buffer, expected " + std::to_string(next) +
                       (entry.begin > next ? ": a hole" : ": tensors overlap"));
      }
      next = entry.end;
    }
    if (next != buffer_bytes_)
      return corrupt(what_ + ": " + std::to_string(buffer_bytes_ - next) +
                     " bytes after the last tensor belong to none");
    return ckpt::ok_status();
  }

  std::string what_;
  JsonReader json_;
  std::uint64_t buffer_bytes_;
  const bool float8_;
  SafetensorsHeader header_;
  Status unsupported_;
};

}  // namespace

Result<SafetensorsHeader> decode_safetensors_header(const std::string& what, std::string_view json,
                                                    std::uint64_t buffer_bytes, bool float8) {
  if (!json.starts_with('{')) return corrupt(what + ": the header does not begin with '{'");
  return Decoder(what, json, buffer_bytes, float8).run();
}

namespace {

Result<SafetensorsHeader> read_header(ckpt::File& file, std::uint64_t size, const std::string& what, bool float8) {
  if (size < kSafetensorsPrefix)
    return corrupt(what + " has " + std::to_string(size) + " bytes, too few for a safetensors file");
  std::byte prefix[kSafetensorsPrefix];
  TITAN_RETURN_IF_ERROR(file.pread(0, prefix));
  const std::uint64_t length = get_le(ckpt::text_of(prefix), 0, kSafetensorsPrefix);
  if (length > kMaxSafetensorsHeader)
    return corrupt(what + ": the header has " + std::to_string(length) + " bytes, expected at most " +
                   std::to_string(kMaxSafetensorsHeader));
  if (length > size - kSafetensorsPrefix)
    return corrupt(what + ": the header has " + std::to_string(length) + " bytes, but the file only " +
                   std::to_string(size));
  std::string json(length, '\0');
  TITAN_RETURN_IF_ERROR(file.pread(kSafetensorsPrefix, std::as_writable_bytes(std::span(json))));
  TITAN_ASSIGN_OR_RETURN(SafetensorsHeader header,
                         decode_safetensors_header(what, json, size - kSafetensorsPrefix - length, float8));
  header.buffer_offset = kSafetensorsPrefix + length;
  return header;
}

}  // namespace

Result<SafetensorsHeader> read_safetensors_header(ckpt::File& file, const std::string& what, bool float8) {
  TITAN_ASSIGN_OR_RETURN(const std::uint64_t size, file.size());
  Result<SafetensorsHeader> header = read_header(file, size, what, float8);
  if (header.status().code != ckpt::Code::kCorrupt) return header;
  std::vector<std::byte> beginning(std::min<std::uint64_t>(size, ckpt::kSignatureBytes));
  TITAN_RETURN_IF_ERROR(file.pread(0, beginning));
  // Detects JSON without the length before it: interpreted as a length, the first bytes of a JSON text are far above
  // the limit.
  if (const std::string_view text = ckpt::text_of(beginning);
      (text.starts_with('{') || text.starts_with('[')) && text.substr(0, kSafetensorsPrefix).find('\0') == text.npos)
    return ckpt::unsupported(what + " is JSON, whatever its name says: it begins with " +
                             ckpt::printable(text.substr(0, 60)))
        .with_hint("fetch the weights themselves: this may be a server's answer, an index or a configuration");
  return or_wrong_file_kind(what, ckpt::text_of(beginning), header.status());
}

std::string encode_safetensors_header(std::vector<SafetensorsEntry>& entries,
                                      const std::vector<std::pair<std::string, std::string>>& metadata) {
  const auto rank = [](const SafetensorsEntry& entry) { return &element_of(entry.dtype) - std::begin(kElements); };
  std::ranges::sort(entries, [&](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return rank(a) != rank(b) ? rank(a) > rank(b) : a.name < b.name;
  });
  ckpt::JsonWriter json;
  json.begin();
  if (!metadata.empty()) {
    json.key("__metadata__").begin();  // written member by member, because as one value it would have line breaks
    for (const auto& [key, text] : metadata) json.key(key).value(text);
    json.end();
  }
  std::uint64_t next = 0;
  for (SafetensorsEntry& entry : entries) {
    entry.begin = next;
    entry.end = next += ckpt::element_count(entry.shape) * ckpt::dtype_size(entry.dtype);
    json.key(entry.name).begin().members("dtype", element_of(entry.dtype).name, "shape", entry.shape);
    json.key("data_offsets").begin_list().value(entry.begin).value(entry.end).end_list().end();
  }
  std::string text = std::move(json.end()).finish();
  text.pop_back();  // JsonWriter ends with a newline; the format pads with spaces
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string prefix;
  put_le(prefix, text.size(), kSafetensorsPrefix);
  return prefix + text;
}

}  // namespace titan::convert
