#include "converters/hf/hf_index.h"

#include <utility>

#include "ckpt/format/json_reader.h"
#include "converters/json_file.h"

namespace titan::convert {
namespace {

// Whether `name` is a file name without folders, so that no index leads out of its folder.
bool is_plain(std::string_view name) {
  const bool plain = name.find('/') == std::string::npos && name.find('\\') == std::string::npos &&
                     name.find('\0') == std::string::npos;
  return plain && name.size() > kSafetensorsSuffix.size() && name.size() <= 255 && name.ends_with(kSafetensorsSuffix) &&
         name[0] != '.';
}

}  // namespace

ckpt::Result<WeightMap> decode_hf_index(const std::string& what, std::string_view json) {
  ckpt::JsonReader reader(what, json);
  if (const char first = reader.peek(); first != '{') {
    reader.skip();
    TITAN_RETURN_IF_ERROR(reader.finish());
    return no_json_object(what, first);
  }
  WeightMap map;
  bool seen = false, there = false;
  const auto wrong = [&](const std::string& message) { reader.fail(ckpt::corrupt(what + message)); };
  const auto file = [&](std::string_view key) {
    std::string name(key);
    if (reader.peek() != '"')
      return reader.fail(ckpt::incompatible(what + ": the file of tensor '" + name + "' is not a text"));
    const std::string_view text = reader.text();
    if (!is_plain(text) && reader.ok())
      return wrong(" names the file '" + std::string(text) +
                   "', expected the name of a .safetensors file in the same folder");
    if (!map.emplace(std::move(name), text).second) wrong(": tensor '" + std::string(key) + "' is there twice");
  };
  reader.object([&](std::string_view key) {
    if (key != "weight_map") return reader.skip();
    if (std::exchange(seen, true)) return wrong(": 'weight_map' is there twice");
    there = reader.peek() == '{';
    if (there)
      reader.object(file);
    else
      reader.skip();
  });
  TITAN_RETURN_IF_ERROR(reader.finish());
  if (!there) return ckpt::incompatible(what + " has no object 'weight_map'");
  return map;
}

}  // namespace titan::convert
