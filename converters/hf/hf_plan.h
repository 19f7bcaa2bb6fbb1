#pragma once
// From Hugging Face's names and configuration to ours.
#include <string>

#include "converters/format.h"
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

/// The model that the config.json at `path` says. \error kNotFound, kCorrupt, kUnsupported, kFailed
Result<recipe::ModelDims> read_hf_config_file(Fs& fs, const std::string& path);

/// Adds to `plan` the files of a tokenizer and the like that lie in `folder`, where it has none of that name, and notes
/// which cannot be taken.
Status find_companions(Fs& fs, const std::string& folder, ImportPlan& plan);
/// How the note begins that names them.
inline constexpr const char* kLeftBehind = "left behind: ";
inline constexpr const char* kStateOfRun = "the state of a run, which is not read";
/// The names among `entries` of what trainers keep the state of a run in, which is not read.
std::vector<std::string> training_state(const std::vector<ckpt::DirEntry>& entries);

/// Whether two tensors of `source` have equal types, shapes and bytes: a tied head and its embedding. \error kCorrupt,
/// kFailed
Result<bool> same_elements(const ForeignCheckpoint& source, std::size_t a, std::size_t b);

}  // namespace titan::convert
