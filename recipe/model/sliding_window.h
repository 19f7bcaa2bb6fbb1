#pragma once
// Attention that sees the newest tokens alone, in all layers of a model or in some. Pure.
#include <cstdint>
#include <string>

#include "ckpt/base/result.h"
#include "ckpt/model/sample_range.h"

namespace titan::recipe {

/// A token sees itself and the `tokens` - 1 before it. \source Hugging Face transformers, masking_utils.py,
/// sliding_window_overlay
struct SlidingWindow {
  std::int64_t tokens = 0;    ///< 0: all before it
  ckpt::SampleRanges layers;  ///< that have the window, counted from 0; empty: all of the model
  /// Tokens that one of `layer` sees; 0: all before it.
  std::int64_t of(std::int64_t layer) const;
  bool operator==(const SlidingWindow&) const = default;
};

/// model.sliding_window_layers of a window in all layers.
inline constexpr const char* kAllLayers = "all";

/// The window that `tokens` and the text of layers ("all", or "0-3, 8") say of a model of so many layers: equal windows
/// are equal values. \error kInvalid: a text that is none, layers that the model has not, layers without a window
ckpt::Result<SlidingWindow> sliding_window(std::int64_t tokens, const std::string& layers, std::int64_t n_layers);
/// The text of its layers.
std::string layers_text(const SlidingWindow& window);

}  // namespace titan::recipe
