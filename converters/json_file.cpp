#include "converters/json_file.h"

#include "ckpt/base/printable.h"
#include "ckpt/base/text.h"
#include "converters/companions.h"
#include "converters/elsewhere.h"

namespace titan::convert {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{4} << 20;
constexpr std::size_t kShown = 40;

}  // namespace

ckpt::Result<ckpt::JsonValue> read_json_file(ckpt::Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const bool there, file_there(fs, path));
  if (!there) return ckpt::not_found(path + " is not there");
  TITAN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ckpt::read_file(fs, through_link(fs, path), kMaxBytes));
  ckpt::Result<ckpt::JsonValue> json = ckpt::parse_json(path, ckpt::text_of(bytes));
  if (!json.ok()) return or_what_it_is(path, ckpt::text_of(bytes), json.status());
  return json;
}

std::string short_text(const ckpt::JsonValue& value) {
  std::string text = value.write();
  std::erase(text, '\n');
  return ckpt::printable(text.substr(0, kShown));
}

}  // namespace titan::convert
