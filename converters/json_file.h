#pragma once
// Reads JSON files of other programs. An error says what was found instead of a JSON object.
#include <cstdint>
#include <string>

#include "ckpt/format/json_value.h"
#include "converters/format.h"

namespace titan::convert {

inline constexpr std::uint64_t kMaxJsonFile = std::uint64_t{4} << 20;

/// The bytes of the regular file at `path`; follows links. \error kNotFound; kUnsupported: a folder, a pipe or a dead
/// link; kCorrupt: empty, or more than `limit` bytes; kMediaError, kFailed
Result<std::string> read_json_text(Fs& fs, const std::string& path, std::uint64_t limit);
/// The JSON object in the file. \error as read_json_text; kUnsupported: another kind of file, such as a web page;
/// kCorrupt: it cannot be parsed; kIncompatible: it is not an object
Result<ckpt::JsonValue> read_json_object(Fs& fs, const std::string& path, std::uint64_t limit = kMaxJsonFile);
/// The error for JSON in `path` that is not an object; its first character is `first`. Always kIncompatible.
Status no_json_object(const std::string& path, char first);
/// The value as text, shortened for a message.
std::string short_text(const ckpt::JsonValue& value);

}  // namespace titan::convert
