#pragma once
// Maps Hugging Face's names and configuration to Titan's.
#include <string>

#include "converters/format.h"
#include "converters/hf/hf_companions.h"
#include "converters/model_mismatch.h"
#include "converters/name_map.h"
#include "recipe/model/dims.h"

namespace titan::convert {

/// Plans the import of `source`, whose configuration and companions are in `folder`. \error see ForeignCheckpoint::plan
Result<ImportPlan> plan_hf_import(Fs& fs, const std::string& folder, const ForeignCheckpoint& source,
                                  const ImportOptions& options);

/// How a program stores a model.
struct ModelLayout {
  const NameMap& names;           ///< the program's tensor names
  std::string tied, file;         ///< the key that ties head and embedding, and the file that has it; for messages
  ConfigKeys keys;                ///< the program's configuration keys; for messages
  bool interleaved_rows = false;  ///< rows of heads are in Titan's order, even if `names` has another
};
/// Plans the import of `source`, which must be a whole `model` without an optimizer. \error see ForeignCheckpoint::plan
Result<ImportPlan> plan_tensors(const ForeignCheckpoint& source, const ModelDims& model, const ModelLayout& layout,
                                const ImportOptions& options);

/// The model in the config.json at `path`. \error kNotFound, kCorrupt, kUnsupported, kIncompatible, kFailed
Result<recipe::ModelDims> read_hf_config_file(Fs& fs, const std::string& path);
/// Which of Hugging Face's spellings of keys the config.json at `path`, which describes `model`, has.
ConfigKeys keys_of_hf_config(Fs& fs, const std::string& path, const recipe::ModelDims& model);

/// Whether two tensors of `source` have equal types, shapes and bytes: a tied head and its embedding. \error kCorrupt,
/// kFailed
Result<bool> same_elements(const ForeignCheckpoint& source, std::size_t a, std::size_t b);

}  // namespace titan::convert
