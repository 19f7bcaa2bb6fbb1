#pragma once
// Reads a JSON object by a list of its keys, each with the variable that gets its value.
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ckpt/format/json_reader.h"

namespace titan::ckpt {

inline void read_value(JsonReader& in, std::uint64_t& out) { out = in.u64(); }
inline void read_value(JsonReader& in, std::uint32_t& out) { out = in.u32(); }
inline void read_value(JsonReader& in, double& out) { out = in.real(); }
inline void read_value(JsonReader& in, bool& out) { out = in.boolean(); }
inline void read_value(JsonReader& in, std::string& out) { out = in.text(); }
inline void read_value(JsonReader& in, std::string_view& out) { out = in.text(); }
inline void read_value(JsonReader& in, Digest& out) { out = in.digest(); }
inline void read_value(JsonReader& in, std::vector<std::string>& out) { out = in.string_list(); }
inline void read_value(JsonReader& in, std::vector<std::pair<std::string, std::string>>& out) { out = in.string_map(); }
inline void read_value(JsonReader& in, std::optional<double>& out) {
  if (!in.null()) out = in.real();
}
template <typename Read>
auto read_value(JsonReader&, const Read& read) -> decltype(read()) {
  read();
}

/// A key to read. `place` is the variable that gets its value, or a function that reads the value.
template <typename Place>
struct JsonField {
  const char* name;
  Place place;
  bool required = true;
};
template <typename Place>
JsonField(const char*, Place&&, bool = true) -> JsonField<Place>;

/// Reads an object, named `what` in messages. Each of `fields` may occur once; a required one must. Other keys are
/// skipped. Returns which fields were present: bit i stands for field i, from 0.
/// Example: read_object(in, "mesh", JsonField{"pp", mesh.pp}, JsonField{"dp", mesh.dp});
template <typename... Place>
SeenKeys read_object(JsonReader& in, const char* what, const JsonField<Place>&... fields) {
  SeenKeys seen(in, what);
  in.object([&](std::string_view key) {
    unsigned bit = 0;
    const auto take = [&](const auto& field) {
      if (!seen.is(key, bit++, field.name)) return false;
      read_value(in, field.place);
      return true;
    };
    if (!(take(fields) || ...)) in.skip();
  });
  unsigned bit = 0;
  const auto require = [&](const auto& field) {
    if (field.required) seen.require(bit, field.name);
    ++bit;
  };
  (require(fields), ...);
  return seen;
}

}  // namespace titan::ckpt
