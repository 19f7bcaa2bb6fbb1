#pragma once
// Files of Hugging Face's that travel with a model, and those of a trainer that stay behind.
#include <string>
#include <vector>

#include "converters/format.h"

namespace titan::convert {

/// Adds to `plan` the files of a tokenizer and the like that lie in `folder`, where it has none of that name, and notes
/// which cannot be taken.
Status find_companions(Fs& fs, const std::string& folder, ImportPlan& plan);
/// How the note begins that names them.
inline constexpr const char* kLeftBehind = "left behind: ";
inline constexpr const char* kStateOfRun = "the state of a run, which is not read";
/// The names among `entries` of what trainers keep the state of a run in, which is not read.
std::vector<std::string> training_state(const std::vector<ckpt::DirEntry>& entries);

}  // namespace titan::convert
