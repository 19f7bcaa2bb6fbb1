#pragma once
// Writes the tensors of one component as a single shard: for checkpoints that one process makes in one go.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/format/manifest.h"

namespace titan::ckpt {

/// Hands out the raw bytes of the elements from `first` on of `refs[tensor]`: filled into `scratch`, which has the
/// length that is wanted, or a view of them that lasts until the next call. Called from one thread, in order.
using ElementProvider = std::function<Result<std::span<const std::byte>>(std::size_t tensor, std::uint64_t first,
                                                                         std::span<std::byte> scratch)>;

/// Writes `<folder>/<component>/shard-00000.h5` with the tensors `refs` in this order. They are in `manifest` with
/// dtype and chunk, without pieces; they get pieces and digests there, and the component its entry. The folder of the
/// component is there; its names are not synced. \error kFailed, what `elements` returns
Status write_component(Fs& fs, const std::string& folder, const char* component, const std::vector<TensorRef>& refs,
                       const ElementProvider& elements, Manifest& manifest, unsigned threads);

}  // namespace titan::ckpt
