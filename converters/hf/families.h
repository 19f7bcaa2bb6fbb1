#pragma once
// The model families that Hugging Face's configurations name, as data (families.tsv).
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "recipe/model/dims.h"

namespace titan::convert {

struct HfFamily {
  std::string architecture, model_type;
  std::int64_t default_kv_heads = 0;          ///< transformers' default; 0: as many as query heads
  std::int64_t default_head_dim = 0;          ///< the same; 0: hidden_size / heads
  double default_eps = 0, default_theta = 0;  ///< the same of rms_norm_eps and rope_theta
  /// Which keys say the window: none, sliding_window alone, where a missing one means 4,096 (Mistral) or none
  /// (Mixtral), or use_sliding_window with it (Qwen), and of some layers.
  enum class Window { kNone, kAlways, kIfGiven, kSwitched, kSwitchedLayers } window = Window::kNone;
  std::vector<bool recipe::ModelDims::*> switches;
  bool has(bool recipe::ModelDims::*on) const;
};
using HfFamilies = std::vector<HfFamily>;

/// Reads a table of families: lines of columns between tabs, '#' before a comment. \error std::logic_error for a line
/// that is none
HfFamilies read_hf_families(std::string_view text);
/// Those that we know.
const HfFamilies& hf_families();

/// The first family whose models have the parts of `model`; nullptr where none has.
const HfFamily* family_for(const recipe::ModelDims& model, const HfFamilies& families);

/// The hint that --to hf writes `model`; "" where no architecture there has its parts.
std::string huggingface_writes(const recipe::ModelDims& model);

}  // namespace titan::convert
