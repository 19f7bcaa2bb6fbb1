#include "converters/json_file.h"

#include "ckpt/base/files.h"
#include "ckpt/base/printable.h"
#include "ckpt/base/text.h"
#include "converters/companions.h"
#include "converters/other_programs.h"

namespace titan::convert {
namespace {

constexpr std::size_t kShown = 40;

const char* json_kind(char first) {
  switch (first) {
    case '[': return "a list";
    case '"': return "a text";
    case 'n': return "null";
    case 't':
    case 'f': return "a truth value";
    default: return "a number";
  }
}

}  // namespace

Result<std::string> read_json_text(Fs& fs, const std::string& path, std::uint64_t limit) {
  TITAN_ASSIGN_OR_RETURN(const bool there, file_there(fs, path));
  if (!there) return ckpt::not_found(path + " is not there");
  TITAN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ckpt::read_file(fs, through_link(fs, path), limit));
  if (bytes.empty()) return ckpt::corrupt(path + " is empty, expected a JSON object");
  return std::string(ckpt::text_of(bytes));
}

Result<ckpt::JsonValue> read_json_object(Fs& fs, const std::string& path, std::uint64_t limit) {
  TITAN_ASSIGN_OR_RETURN(const std::string text, read_json_text(fs, path, limit));
  Result<ckpt::JsonValue> json = ckpt::parse_json(path, text);
  if (!json.ok()) return or_wrong_file_kind(path, text, json.status());
  if (!json->is_object()) return no_json_object(path, json->write().front());
  return json;
}

Status no_json_object(const std::string& path, char first) {
  return ckpt::incompatible(path + " is " + json_kind(first) + ", expected a JSON object")
      .with_hint("take the file from where the weights came from");
}

std::string short_text(const ckpt::JsonValue& value) {
  std::string text = value.write();
  std::erase(text, '\n');
  return ckpt::printable(text.substr(0, kShown));
}

}  // namespace titan::convert
