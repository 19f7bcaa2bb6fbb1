#include "recipe/model/sliding_window.h"

#include <algorithm>

#include "ckpt/base/text.h"
#include "ckpt/base/toml_text.h"

namespace titan::recipe {

std::int64_t SlidingWindow::of(std::int64_t layer) const {
  const auto number = static_cast<std::uint64_t>(layer);
  const auto holds = [&](const ckpt::SampleRange& range) { return range.first <= number && number < range.end(); };
  return layers.empty() || std::ranges::any_of(layers, holds) ? tokens : 0;
}

ckpt::Result<SlidingWindow> sliding_window(std::int64_t tokens, const std::string& layers, std::int64_t n_layers) {
  constexpr const char* kKey = "model.sliding_window_layers";
  if (layers == kAllLayers) return SlidingWindow{tokens, {}};
  if (tokens == 0)
    return ckpt::invalid(std::string(kKey) + " = " + ckpt::toml_string(layers) + " without model.sliding_window");
  SlidingWindow window{tokens, {}};
  for (std::string word : ckpt::split(layers, ',')) {
    word.erase(0, word.find_first_not_of(' '));
    const auto range = ckpt::parse_range(word);
    if (!range)
      return ckpt::invalid(std::string(kKey) + ": expected \"all\", or layers such as \"0-3, 8\", found " +
                           ckpt::toml_string(layers));
    window.layers.push_back(*range);
  }
  window.layers = ckpt::in_order(std::move(window.layers));
  const auto count = static_cast<std::uint64_t>(n_layers);
  if (window.layers.back().end() > count)
    return ckpt::invalid(std::string(kKey) + ": layer " + std::to_string(window.layers.back().end() - 1) +
                         " is none of the model's " + std::to_string(count) + ", which are counted from 0");
  if (window.layers.front().count == count) window.layers.clear();
  return window;
}

std::string layers_text(const SlidingWindow& window) {
  return window.layers.empty() ? kAllLayers : ckpt::ranges_text(window.layers);
}

}  // namespace titan::recipe
