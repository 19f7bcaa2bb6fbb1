#pragma once
// Finds Hugging Face's companion files of a model (tokenizer, config.json and the like), and names trainers' files that
// are not copied.
#include <string>
#include <vector>

#include "converters/format.h"

namespace titan::ckpt {
struct DirEntry;
}

namespace titan::convert {

/// Adds to `plan` the companions in `folder` whose names `plan` does not have yet, and a note about those that cannot
/// be taken.
Status find_companions(Fs& fs, const std::string& folder, ImportPlan& plan);
/// The beginning of the note that names files that are not copied.
inline constexpr const char* kNotCopied = "not taken: ";
inline constexpr const char* kStateOfRun = "the state of a run, which is not read";
/// The names in `entries` under which trainers keep the state of a run, which is not read.
std::vector<std::string> training_state(const std::vector<ckpt::DirEntry>& entries);

}  // namespace titan::convert
