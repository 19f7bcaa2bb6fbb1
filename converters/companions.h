#pragma once
// Files that travel with a model (tokenizer, configuration): members `<format>/<name>` of a checkpoint, with the role "derived".
#include <functional>
#include <string>
#include <vector>

#include "converters/format.h"

namespace titan::convert {

/// Copies `companions` to `<checkpoint>/<folder>/`, synced (the folder is made, its names are not synced); returns their member entries.
Result<std::vector<ckpt::FileEntry>> take_companions(Fs& fs, const std::vector<Companion>& companions, const std::string& checkpoint,
                                                     const std::string& folder);

/// Reads member `<folder>/<name>`, checked against its digest. \error kNotFound, kCorrupt
Result<std::string> read_companion(Fs& fs, const CheckpointReader& checkpoint, const std::string& folder, const std::string& name,
                                   std::uint64_t limit);

/// Copies the members of `<folder>/` whose name `wanted` takes to `destination`, each checked and synced.
Status copy_companions(Fs& fs, const CheckpointReader& checkpoint, const std::string& folder, const std::string& destination,
                       const std::function<bool(const std::string& name)>& wanted);

}  // namespace titan::convert
