#pragma once
// Maps Hugging Face's names and configuration to Titan's.
#include <string>

#include "converters/format.h"
#include "converters/hf/hf_companions.h"
#include "converters/model_mismatch.h"
#include "converters/name_table.h"
#include "recipe/model/dims.h"

namespace titan::convert {

/// Plans the import of `source`, whose configuration and companions are in `folder`. \error see ForeignCheckpoint::plan
Result<ImportPlan> plan_hf_import(Fs& fs, const std::string& folder, const ForeignCheckpoint& source,
                                  const ImportOptions& options);

/// Which program's names the tensors have, which key of which file ties head and embedding, and which program's keys
/// have the sizes.
struct ModelLayout {
  const NameTable& names;
  std::string tied, file;
  ConfigKeys keys;
  bool our_rows = false;  ///< rows of heads are in Titan's order, whatever `names` says
};
/// Plans the import of `source`, which must be a whole `model` without an optimizer. \error see ForeignCheckpoint::plan
Result<ImportPlan> plan_tensors(const ForeignCheckpoint& source, const ModelDims& model, const ModelLayout& layout,
                                const ImportOptions& options);

/// The model in the config.json at `path`. \error kNotFound, kCorrupt, kUnsupported, kIncompatible, kFailed
Result<recipe::ModelDims> read_hf_config_file(Fs& fs, const std::string& path);
/// Which of Hugging Face's keys have the sizes of `model` in the config.json at `path`.
ConfigKeys keys_of_hf_config(Fs& fs, const std::string& path, const recipe::ModelDims& model);

/// Whether two tensors of `source` have equal types, shapes and bytes: a tied head and its embedding. \error kCorrupt,
/// kFailed
Result<bool> same_elements(const ForeignCheckpoint& source, std::size_t a, std::size_t b);

}  // namespace titan::convert
