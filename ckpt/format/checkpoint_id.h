#pragma once
// The digests from which a checkpoint's id is computed, and the id. \source FORMAT.md, "Digests and the id"
#include <string_view>
#include <vector>

#include "ckpt/format/manifest.h"
#include "ckpt/model/data_position.h"
#include "ckpt/model/lr.h"

namespace titan::ckpt {

/// Digest of a tensor from its leaf digests in order.
Digest tensor_digest(const std::vector<Digest>& leaves);
/// Digest of component "model" or "optimizer" over all its tensors in bytewise name order.
Digest component_digest(const Manifest& manifest, std::string_view component);
/// The checkpoint's id. Arguments for components that `manifest` lacks are ignored; `tokens` is from the train state.
Digest checkpoint_id(const Manifest& manifest, const LrSchedule& lr, const DataPosition& data, std::uint64_t tokens);

}  // namespace titan::ckpt
