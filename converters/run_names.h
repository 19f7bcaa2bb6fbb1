#pragma once
// How trainers write ranks and steps: in the names of files and folders, and in the file that names the last step.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ckpt/base/fs.h"

namespace titan::convert {

/// A rank as every trainer writes it: digits alone, no zero before others. Nothing for any other text.
std::optional<std::uint32_t> rank_number(std::string_view text);

/// The step in the name of a folder: "step-10", "checkpoint-10", "iter_0000010", "global_step10",
/// "global_step10_universal", "10"; nothing for a name that ends otherwise.
std::optional<std::uint64_t> step_of_name(std::string_view name);
/// Whether `name` is how a trainer calls the folder of a step: one of those above, or "release", and nothing else that
/// ends in a number.
bool is_step_name(std::string_view name);

inline constexpr const char *kLatestOfMegatron = "latest_checkpointed_iteration.txt", *kLatestOfNanotron = "latest.txt",
                            *kLatestOfDeepspeed = "latest", *kLatestUniversal = "latest_universal";
/// All files in which a trainer names its last step.
std::span<const char* const> latest_files();

/// What such a file says ("5", "release", "global_step7"), without blanks and ends of lines around it, whatever system
/// wrote them. \error kNotFound: no such file, or no file; kFailed, kMediaError
ckpt::Result<std::string> latest_word(ckpt::Fs& fs, const std::string& path);

}  // namespace titan::convert
