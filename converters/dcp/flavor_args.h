#pragma once
// The flavour of torchtitan that a Titan model needs, since a DCP directory does not store heads, RoPE and eps. The
// flavour is one of llama3 or, for a model with norms of queries and keys, of qwen3.
#include <string>

#include "ckpt/base/result.h"
#include "recipe/model/dims.h"

namespace titan::convert::dcp {

/// Checks that torchtitan can express `model`. `what` names the checkpoint in messages. \error kUnsupported: RoPE is
/// scaled in a way that torchtitan lacks (qwen3: in any way; llama3: in another way than Llama 3's), or head_dim of a
/// llama3 is not dim / n_heads
ckpt::Status check_flavor(const std::string& what, const recipe::ModelDims& model);
/// The arguments of TransformerModelArgs (qwen3: Qwen3ModelArgs) for `model`, as text for the user.
std::string flavor_text(const recipe::ModelDims& model);
/// As flavor_text(), for torchtitan 0.3.0, whose models are composed of parts.
std::string newer_flavor_text(const recipe::ModelDims& model);

}  // namespace titan::convert::dcp
