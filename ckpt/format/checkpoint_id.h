#pragma once
// The digests that make up a checkpoint's id, and the id. \source FORMAT.md, "Digests and the id"
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
/// The checkpoint's id. Components that `manifest` lacks are not read; `tokens` is that of the train state.
Digest checkpoint_id(const Manifest& manifest, const LrSchedule& lr, const DataPosition& data, std::uint64_t tokens);

}  // namespace titan::ckpt
