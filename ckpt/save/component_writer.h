#pragma once
// Writes the tensors of one component as a single shard, for checkpoints that a single process makes.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ckpt/format/manifest.h"

namespace titan::ckpt {

class Fs;

/// Returns the raw bytes of consecutive elements of a tensor from `first` on, as many as `scratch` holds: either
/// written into `scratch`, or a view that stays valid until the next call. `tensor` is an index in `refs` of
/// write_component(). Called from one thread, in order.
using ElementProvider = std::function<Result<std::span<const std::byte>>(std::size_t tensor, std::uint64_t first,
                                                                         std::span<std::byte> scratch)>;

/// Writes `<folder>/<component>/shard-00000.h5` with the tensors `refs`, in this order. `manifest` must list these
/// tensors with dtype and chunk, without pieces; the call adds pieces, digests and the component's entry. The
/// component's folder must exist; the call does not sync it. \error kFailed, the errors of `elements`
Status write_component(Fs& fs, const std::string& folder, const char* component, const std::vector<TensorRef>& refs,
                       const ElementProvider& elements, Manifest& manifest, unsigned threads);

}  // namespace titan::ckpt
