#include "ckpt/format/member_names.h"

#include <algorithm>
#include <charconv>

#include "ckpt/base/printed.h"
#include "ckpt/base/text.h"
#include "ckpt/base/utf8.h"

namespace titan::ckpt {

std::uint64_t max_json_bytes(std::string_view path) {
  return std::uint64_t{path == json_path(kDataloader) ? 64U : 16U} << 20;
}

std::string shard_path(std::string_view component, std::uint32_t rank) {
  return std::string(component) + printed("/shard-%05u.h5", static_cast<unsigned>(rank));
}

std::string json_path(std::string_view component) { return std::string(component) + ".json"; }

std::string step_name(std::uint64_t step) { return printed("step-%08llu", static_cast<unsigned long long>(step)); }

std::optional<std::uint64_t> parse_step_name(std::string_view name) {
  constexpr std::string_view kPrefix = "step-";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::uint64_t step = 0;
  auto [end, error] = std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), step);
  // Only one spelling is accepted: step-1, step-000000001 and step-00000001.backup are foreign names.
  if (error != std::errc{} || end != name.data() + name.size() || step_name(step) != name) return std::nullopt;
  return step;
}

std::string temporary_name(std::uint64_t step, std::string_view save_id) {
  return step_name(step) + ".tmp-" + std::string(save_id);
}

bool is_save_id(std::string_view text) {
  return text.size() >= 12 && text.size() <= 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Status check_member_path(std::string_view path) {
  const auto refuse = [&](const char* why) {
    return corrupt("member path '" + std::string(path.substr(0, 255)) + "' is refused: " + why);
  };
  if (path.empty() || path.size() > 255) return refuse("it must have 1 to 255 bytes");
  if (!std::all_of(path.begin(), path.end(), [](char c) { return c > ' ' && c < 0x7F && c != '\\'; }))
    return refuse("only printable ASCII without spaces and backslashes is allowed");
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return refuse("it has an empty, '.' or '..' part");
    begin = end + 1;
  }
  return ok_status();
}

Status check_parameter_name(std::string_view name) {
  if (name.empty() || name.size() > 1024)
    return invalid("a parameter name has 1 to 1,024 bytes, found " + std::to_string(name.size()));
  const bool control = std::any_of(name.begin(), name.end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7F; });
  if (control || !is_utf8(name)) return invalid("a parameter name is not UTF-8 without control characters");
  return ok_status();
}

bool is_slot_name(std::string_view name) {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || is_digit(c) || c == '_'; };
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, allowed);
}

}  // namespace titan::ckpt
