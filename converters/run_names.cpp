#include "converters/run_names.h"

#include <algorithm>

#include "ckpt/base/files.h"
#include "ckpt/base/text.h"
#include "converters/companions.h"
#include "converters/format.h"

namespace titan::convert {
namespace {

constexpr std::uint64_t kMaxLatest = 4096;
constexpr std::string_view kUniversal = "_universal", kGlobalStep = "global_step";
constexpr std::string_view kStepBegins[] = {"", "step-", "checkpoint-", "iter_", kGlobalStep, "global_step_"};
constexpr const char* kLatest[] = {kLatestUniversal, kLatestOfDeepspeed, kLatestOfMegatron, kLatestOfNanotron};

// Splits `name` into the part before its trailing digits, and these digits; both are empty if there are no digits.
struct Numbered {
  std::string_view before, digits;
};
Numbered split_name(std::string_view name) {
  if (name.starts_with(kGlobalStep) && name.ends_with(kUniversal)) name.remove_suffix(kUniversal.size());
  std::size_t begin = name.size();
  while (begin > 0 && ckpt::is_digit(name[begin - 1])) --begin;
  return {name.substr(0, begin), name.substr(begin)};
}

}  // namespace

std::optional<std::uint32_t> rank_number(std::string_view text) {
  const bool plain = std::ranges::all_of(text, ckpt::is_digit) && (text.size() == 1 || !text.starts_with('0'));
  return plain ? ckpt::number_of<std::uint32_t>(text) : std::nullopt;
}

std::optional<std::uint64_t> step_of_name(std::string_view name) {
  const auto [before, digits] = split_name(name);
  const bool apart = before.empty() || before == kGlobalStep || before.ends_with('-') || before.ends_with('_');
  return apart ? ckpt::number_of<std::uint64_t>(digits) : std::nullopt;
}

bool is_step_name(std::string_view name) {
  const auto [before, digits] = split_name(name);
  return name == "release" || (!digits.empty() && std::ranges::find(kStepBegins, before) != std::end(kStepBegins));
}

std::span<const char* const> latest_files() { return kLatest; }

ckpt::Result<std::string> latest_word(ckpt::Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const bool there, is_file(fs, path));
  if (!there) return ckpt::not_found(path + " is not there");
  TITAN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ckpt::read_file(fs, through_link(fs, path), kMaxLatest));
  return std::string(ckpt::trimmed(ckpt::text_of(bytes), " \t\r\n"));
}

}  // namespace titan::convert
