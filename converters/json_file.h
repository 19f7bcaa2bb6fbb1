#pragma once
// Files of JSON that other programs wrote: the object in them, or one error that says what is there instead.
#include <cstdint>
#include <string>
#include <string_view>

#include "ckpt/format/json_value.h"
#include "converters/format.h"

namespace titan::convert {

inline constexpr std::uint64_t kMaxJsonFile = std::uint64_t{4} << 20;

/// The bytes of the regular file at `path`, behind links. \error kNotFound; kUnsupported: a folder, a pipe or a link
/// that leads nowhere; kCorrupt: it is empty; kFailed: more than `limit` bytes
Result<std::string> read_json_text(Fs& fs, const std::string& path, std::uint64_t limit);
/// The object in it. \error as read_json_text; kUnsupported: another kind of file; kCorrupt: it cannot be parsed;
/// kIncompatible: no object
Result<ckpt::JsonValue> read_json_object(Fs& fs, const std::string& path, std::uint64_t limit = kMaxJsonFile);
/// That the JSON in `path`, whose first character is `first`, is no object. \error kIncompatible
Status no_json_object(const std::string& path, char first);
/// As much of the value as a message has room for.
std::string short_text(const ckpt::JsonValue& value);

}  // namespace titan::convert
