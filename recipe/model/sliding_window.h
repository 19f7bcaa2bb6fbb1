#pragma once
// Sliding-window attention, in all layers of a model or in some. Pure.
#include <cstdint>
#include <string>

#include "ckpt/base/result.h"
#include "ckpt/model/sample_range.h"

namespace titan::recipe {

/// A token attends to itself and the `tokens` - 1 before it. \source Hugging Face transformers, masking_utils.py,
/// sliding_window_overlay
struct SlidingWindow {
  std::int64_t tokens = 0;    ///< 0: a token attends to all tokens before it
  ckpt::SampleRanges layers;  ///< layers with the window, counted from 0; empty: all layers
  /// The number of tokens, itself included, that a token attends to in layer `layer`; 0: all tokens before it.
  std::int64_t of(std::int64_t layer) const;
  bool operator==(const SlidingWindow&) const = default;
};

/// The value of model.sliding_window_layers for a window in all layers.
inline constexpr const char* kAllLayers = "all";

/// The window of `tokens` tokens in `layers` ("all", or "0-3, 8") of a model with `n_layers` layers. Equal windows
/// compare equal. \error kInvalid: another text, layers that the model does not have, layers without a window
ckpt::Result<SlidingWindow> sliding_window(std::int64_t tokens, const std::string& layers, std::int64_t n_layers);
/// The layers of the window as text: "all", or "0-3, 8".
std::string layers_text(const SlidingWindow& window);

}  // namespace titan::recipe
