#include "converters/hf/families.h"

#include <algorithm>
#include <stdexcept>

#include "ckpt/base/text.h"

namespace titan::convert {
namespace {

using recipe::ModelDims;

constexpr char kTable[] =
#include "converters/hf/families.inc"
    ;
constexpr std::pair<const char*, bool ModelDims::*> kSwitches[] = {
    {"qkv_bias", &ModelDims::qkv_bias},
    {"qk_norm", &ModelDims::qk_norm},
    {"whole_qk_norm", &ModelDims::whole_qk_norm},
    {"post_norm", &ModelDims::post_norm},
    {"experts", &ModelDims::experts},
};

constexpr std::pair<const char*, HfFamily::Window> kWindows[] = {
    {"-", HfFamily::Window::kNone},
    {"always", HfFamily::Window::kAlways},
    {"given", HfFamily::Window::kIfGiven},
    {"switched", HfFamily::Window::kSwitched},
    {"layers", HfFamily::Window::kSwitchedLayers},
};

[[noreturn]] void refuse(const std::string& line) { throw std::logic_error("table of families: " + line); }

std::vector<bool ModelDims::*> read_switches(const std::string& text, const std::string& line) {
  std::vector<bool ModelDims::*> switches;
  for (const std::string& word : text == "-" ? std::vector<std::string>{} : ckpt::split(text, ',')) {
    const auto* const found =
        std::find_if(std::begin(kSwitches), std::end(kSwitches), [&](const auto& one) { return word == one.first; });
    if (found == std::end(kSwitches)) refuse(line);
    switches.push_back(found->second);
  }
  return switches;
}

// Whether the family allows the properties of `model` that are no flags in `switches`: expert weights that are not
// normalised, and the sliding window.
bool can_have(const HfFamily& family, const ModelDims& model) {
  using enum HfFamily::Window;
  if (family.has(&ModelDims::experts) && !family.has(&ModelDims::qk_norm) && !model.route_norm) return false;
  if (model.window.tokens == 0) return true;
  return family.window == kSwitchedLayers || (family.window != kNone && model.window.layers.empty());
}

}  // namespace

bool HfFamily::has(bool ModelDims::*on) const { return std::ranges::find(switches, on) != switches.end(); }

HfFamilies read_hf_families(std::string_view text) {
  constexpr std::size_t kColumns = 8;
  HfFamilies families;
  for (const std::string& line : ckpt::split(text, '\n')) {
    if (line.empty() || line.starts_with('#')) continue;
    const std::vector<std::string> columns = ckpt::split(line, '\t');
    if (columns.size() != kColumns || columns[0].empty() || columns[1].empty()) refuse(line);
    const auto kv_heads = ckpt::number_of<std::int64_t>(columns[2]),
               head_dim = ckpt::number_of<std::int64_t>(columns[3]);
    const auto eps = ckpt::number_of<double>(columns[4]), theta = ckpt::number_of<double>(columns[5]);
    const auto* const window = std::find_if(std::begin(kWindows), std::end(kWindows),
                                            [&](const auto& one) { return columns[6] == one.first; });
    if (!kv_heads || !head_dim || !eps || !theta || window == std::end(kWindows)) refuse(line);
    families.push_back(
        {columns[0], columns[1], *kv_heads, *head_dim, *eps, *theta, window->second, read_switches(columns[7], line)});
  }
  return families;
}

const HfFamilies& hf_families() {
  static const HfFamilies families = read_hf_families(kTable);
  return families;
}

const HfFamily* family_for(const ModelDims& model, const HfFamilies& families) {
  const auto same = [&](const HfFamily& family) {
    return can_have(family, model) &&
           std::ranges::all_of(kSwitches, [&](const auto& one) { return family.has(one.second) == model.*one.second; });
  };
  const auto found = std::ranges::find_if(families, same);
  return found == families.end() ? nullptr : &*found;
}

std::string huggingface_writes(const ModelDims& model) {
  return family_for(model, hf_families()) != nullptr ? "--to hf writes such a model" : "";
}

}  // namespace titan::convert
