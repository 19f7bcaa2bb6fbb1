#pragma once
// The model families of Hugging Face configurations, as data (families.tsv).
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "recipe/model/dims.h"

namespace titan::convert {

/// One row of the table: a model family and transformers' defaults for it.
struct HfFamily {
  std::string architecture, model_type;
  std::int64_t default_kv_heads = 0;          ///< transformers' default; 0: as many as query heads
  std::int64_t default_head_dim = 0;          ///< transformers' default; 0: hidden_size / heads
  double default_eps = 0, default_theta = 0;  ///< transformers' defaults of rms_norm_eps and rope_theta
  /// The keys that set the sliding window. kNone: no key. kAlways: sliding_window, 4,096 if missing (Mistral).
  /// kIfGiven: sliding_window, no window if missing (Mixtral). kSwitched: use_sliding_window and sliding_window
  /// (Qwen3-MoE). kSwitchedLayers: as kSwitched, for some layers (Qwen2, Qwen3).
  enum class Window { kNone, kAlways, kIfGiven, kSwitched, kSwitchedLayers } window = Window::kNone;
  std::vector<bool recipe::ModelDims::*> switches;  ///< flags of ModelDims that this family sets
  bool has(bool recipe::ModelDims::*on) const;      ///< whether `switches` contains `on`
};
using HfFamilies = std::vector<HfFamily>;

/// Reads a table of families: lines with columns separated by tabs; '#' begins a comment. \error std::logic_error for
/// another line
HfFamilies read_hf_families(std::string_view text);
/// The supported families.
const HfFamilies& hf_families();

/// The first family whose models have the same parts as `model`; nullptr if there is none.
const HfFamily* family_for(const recipe::ModelDims& model, const HfFamilies& families);

/// The hint that --to hf can write `model`; empty if no Hugging Face architecture has its parts.
std::string huggingface_writes(const recipe::ModelDims& model);

}  // namespace titan::convert
