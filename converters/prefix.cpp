#include "converters/prefix.h"

#include <set>

#include "converters/name_map.h"
#include "converters/report.h"
#include "recipe/model/family.h"

namespace titan::convert {
namespace {

constexpr std::string_view kModel = "model.", kLayers = "layers.";

}  // namespace

std::optional<std::size_t> layers_at(std::string_view name, const std::function<bool(std::string_view rest)>& known) {
  for (std::size_t at = name.find(kLayers); at != std::string_view::npos; at = name.find(kLayers, at + 1))
    if ((at == 0 || name[at - 1] == '.') && known(name.substr(at))) return at;
  return std::nullopt;
}

ckpt::Result<std::string> prefix_of(const std::string& path, const std::vector<std::string>& names) {
  std::set<std::string> prefixes;
  const auto known = [](std::string_view rest) {
    return huggingface_names().ours(std::string(kModel) + std::string(rest)).has_value();
  };
  for (const std::string& name : names)
    if (const auto at = layers_at(name, known)) prefixes.insert(name.substr(0, *at));
  if (prefixes.empty() || prefixes.contains(std::string(kModel))) return std::string(kModel);
  if (prefixes.size() == 1) return *prefixes.begin();
  return several_models(path, {prefixes.begin(), prefixes.end()});
}

// The trained model is usually called "model", and models next to it are an average, a teacher or a reference. A model
// also has tensors outside of layers, so the hint skips everything under the wrapper's prefix.
ckpt::Status several_models(const std::string& path, const std::vector<std::string>& prefixes) {
  const auto trained = std::ranges::find_if(prefixes, [](const std::string& one) { return one.starts_with(kModel); });
  const std::string& kept = trained == prefixes.end() ? prefixes.front() : *trained;
  std::string flags;
  for (const std::string& other : prefixes) {
    if (other == kept) continue;
    const std::string root = other.ends_with(kModel) ? other.substr(0, other.size() - kModel.size()) : other;
    flags += " --skip '" + (root.empty() || kept.starts_with(root) ? other : root) + "*'";
  }
  return ckpt::incompatible(path + " holds several models: their names begin with " + listed(prefixes))
      .with_hint("leave all but one of them out:" + flags);
}

std::string after_prefix(const std::string& name, const std::string& prefix) {
  if (prefix == kModel) return name;
  if (name.starts_with(prefix) && name.substr(prefix.size()) != recipe::kHuggingfaceHead)
    return std::string(kModel) + name.substr(prefix.size());
  const std::string root = prefix.ends_with(kModel) ? prefix.substr(0, prefix.size() - kModel.size()) : prefix;
  return name.starts_with(root) ? name.substr(root.size()) : name;
}

}  // namespace titan::convert
