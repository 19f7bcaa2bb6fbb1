#pragma once
// `model/model.h5`: an HDF5 file of virtual datasets, every parameter by name and full shape over the shards. A derived file:
// it can be rebuilt from the manifest, and nothing of Titan reads it. \source FORMAT.md, "model/model.h5"
#include <string>

#include "ckpt/base/fs.h"
#include "ckpt/format/manifest.h"

namespace titan::ckpt {

inline constexpr const char* kVirtualModel = "model/model.h5";

/// Creates `<folder>/model/model.h5` for the component "model" of `manifest` (files, shapes and pieces are used), datasync and
/// close, and returns its member entry. The folder's names are not synced. \error kInvalid (no component "model"), kFailed
Result<FileEntry> write_virtual_model(Fs& fs, const std::string& folder, const Manifest& manifest);

}  // namespace titan::ckpt
