#pragma once
// From Hugging Face's names and configuration to ours.
#include <string>

#include "converters/format.h"
#include "converters/hf/hf_companions.h"
#include "converters/misfit.h"
#include "converters/name_table.h"
#include "recipe/model/dims.h"

namespace titan::convert {

/// Plans the import of `source`, whose configuration and companions lie in `folder`. \error see ForeignCheckpoint::plan
Result<ImportPlan> plan_hf_import(Fs& fs, const std::string& folder, const ForeignCheckpoint& source,
                                  const ImportOptions& options);

/// Whose names tensors have, where it is said that head and embedding are tied (the key, and its file), and whose keys
/// say the sizes.
struct ModelLayout {
  const NameTable& names;
  std::string tied, file;
  ConfigKeys keys;
  bool our_rows = false;  ///< rows of heads lie in our order, whatever the table says
};
/// Plans the import of `source`, which is a whole `model` without an optimizer. \error see ForeignCheckpoint::plan
Result<ImportPlan> plan_tensors(const ForeignCheckpoint& source, const ModelDims& model, const ModelLayout& layout,
                                const ImportOptions& options);

/// The model that the config.json at `path` says. \error kNotFound, kCorrupt, kUnsupported, kIncompatible, kFailed
Result<recipe::ModelDims> read_hf_config_file(Fs& fs, const std::string& path);
/// Which of Hugging Face's keys say the sizes of `model` in that file.
ConfigKeys keys_of_hf_config(Fs& fs, const std::string& path, const recipe::ModelDims& model);

/// Whether two tensors of `source` have equal types, shapes and bytes: a tied head and its embedding. \error kCorrupt,
/// kFailed
Result<bool> same_elements(const ForeignCheckpoint& source, std::size_t a, std::size_t b);

}  // namespace titan::convert
