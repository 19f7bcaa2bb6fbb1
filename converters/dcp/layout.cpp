#include "converters/dcp/layout.h"

#include <algorithm>
#include <optional>
#include <set>

#include "converters/file_names.h"
#include "converters/prefix.h"
#include "converters/skip_rules.h"
#include "recipe/change/name_rules.h"
#include "recipe/model/family.h"

namespace titan::convert::dcp {
namespace {

constexpr std::string_view kModel = "model.";

struct Anchor {
  bool huggingface = false;
  std::string prefix;
  auto operator<=>(const Anchor&) const = default;
};

// The prefix before "layers.N." if the rest of the name is a layer tensor in one of the two layouts.
std::optional<Anchor> anchor_of(std::string_view name) {
  bool huggingface = false;
  const auto at = layers_at(name, [&](std::string_view rest) {
    huggingface = huggingface_names().ours(std::string(kModel) + std::string(rest)).has_value();
    return huggingface || model_order(std::string(rest)).of_model() || torchtitan_names().ours(rest);
  });
  return at ? std::optional(Anchor{huggingface, std::string(name.substr(0, *at))}) : std::nullopt;
}

// Ignores Titan's names if the names that no rule has changed are Hugging Face's: the user's rules may map some of them
// to Titan's, but the others decide the layout.
void forget_renamed(std::set<Anchor>& anchors, const std::set<Anchor>& of_file) {
  const bool theirs = std::any_of(of_file.begin(), of_file.end(), [](const Anchor& one) { return one.huggingface; });
  const Anchor ours;
  if (theirs && !of_file.contains(ours)) anchors.erase(ours);
}

bool is_usual(const Anchor& anchor) { return anchor.prefix == (anchor.huggingface ? kModel : ""); }

ckpt::Result<Anchor> chosen(const std::string& path, const std::set<Anchor>& anchors) {
  if (anchors.empty()) return Anchor{};
  if (anchors.size() == 1) return *anchors.begin();
  std::vector<std::string> prefixes;
  for (const Anchor& anchor : anchors) {
    if (is_usual(anchor)) return anchor;
    prefixes.push_back(anchor.prefix);
  }
  return several_models(path, prefixes);
}

// Hugging Face's name after `prefix`; nullopt if the name does not begin with it.
std::optional<std::string> after_prefix(std::string_view name, std::string_view prefix) {
  const std::string_view root = prefix.ends_with(kModel) ? prefix.substr(0, prefix.size() - kModel.size()) : prefix;
  if (name.starts_with(root) && name.substr(root.size()) == recipe::kHuggingfaceHead)
    return std::string(recipe::kHuggingfaceHead);
  if (!name.starts_with(prefix)) return std::nullopt;
  const std::string_view rest = name.substr(prefix.size());
  return rest == recipe::kHuggingfaceHead ? std::string(rest) : std::string(kModel) + std::string(rest);
}

void take_parameter(std::string_view name, const Layout& layout, std::string_view prefix, LayoutKey& key) {
  if (layout.huggingface) {
    const std::optional<std::string> theirs = after_prefix(name, prefix);
    const auto mapped = theirs ? layout.names.ours(*theirs) : std::nullopt;
    key.parameter = mapped ? mapped->name : std::string(name);
    key.rotate_half = mapped && mapped->rows != Rows::kStay;
    key.derivable = theirs && huggingface_names().derivable(*theirs);
    return;
  }
  const std::string_view rest = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
  const DcpKey plain = parse_key(rest);
  key.parameter = plain.kind == DcpKey::Kind::kParameter ? plain.parameter : std::string(rest);
  key.newer = plain.newer;
  key.rotate_half = layout.rotate_half && recipe::has_head_rows(key.parameter);
  key.derivable = torchtitan_names().derivable(rest);
}

}  // namespace

LayoutKey Layout::key(std::string_view name) const {
  LayoutKey key;
  if (const std::optional<StateKey> state = split_state_key(name)) {
    key.kind = state->field == "step" ? DcpKey::Kind::kStep : DcpKey::Kind::kSlot;
    key.field = state->field;
    take_parameter(state->parameter, *this, optimizer, key);
    return key;
  }
  static_cast<DcpKey&>(key) = parse_key(name);
  if (key.kind != DcpKey::Kind::kParameter) return key;
  key = {};
  if (name.starts_with("param_groups.") || name.find(".param_groups.") != std::string_view::npos) {
    key.kind = DcpKey::Kind::kGroup;
    key.field = name;
    return key;
  }
  take_parameter(name, *this, model, key);
  return key;
}

std::string Layout::wrapping() const {
  if (!huggingface) return model;
  return model.ends_with(kModel) ? model.substr(0, model.size() - kModel.size()) : model;
}

ckpt::Result<Layout> find_layout(const std::string& path, const std::vector<std::string>& names,
                                 const std::vector<bool>& renamed) {
  std::set<Anchor> of_model, of_optimizer, of_file;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    const std::optional<StateKey> state = split_state_key(name);
    const bool other = !state && parse_key(name).kind != DcpKey::Kind::kParameter;
    if (other) continue;
    const auto anchor = anchor_of(state ? state->parameter : name);
    if (!anchor) continue;
    (state ? of_optimizer : of_model).insert(*anchor);
    if (!state && !renamed[i]) of_file.insert(*anchor);
  }
  forget_renamed(of_model, of_file);
  TITAN_ASSIGN_OR_RETURN(const Anchor model, chosen(path, of_model));
  // Optimizer state of another model or another program keeps its names.
  std::erase_if(of_optimizer, [&](const Anchor& anchor) { return anchor.huggingface != model.huggingface; });
  TITAN_ASSIGN_OR_RETURN(const Anchor optimizer, chosen(path, of_optimizer));
  const bool normed = std::ranges::any_of(
      names, [&](const std::string& name) { return name == model.prefix + recipe::name_of(recipe::Part::kQueryNorm); });
  return Layout{model.huggingface, normed && !model.huggingface, model.prefix,
                of_optimizer.empty() && model.huggingface ? std::string(kModel) : optimizer.prefix,
                huggingface_names()};
}

}  // namespace titan::convert::dcp
