#pragma once
// Parses ranks and steps as trainers write them: in names of files and folders, and in the file that names the last
// step.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ckpt/base/result.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::convert {

/// Parses a rank in the form that every trainer writes: only digits, without leading zeros. nullopt for any other text.
std::optional<std::uint32_t> rank_number(std::string_view text);

/// The step in a folder name: the number at its end, alone or after '-', '_' or "global_step": "step-10",
/// "checkpoint-10", "iter_0000010", "global_step10", "global_step10_universal", "10". nullopt for other names.
std::optional<std::uint64_t> step_of_name(std::string_view name);
/// Whether `name` is a trainer's name for the folder of a step: "step-N", "checkpoint-N", "iter_N", "global_stepN" or
/// "global_step_N" (perhaps with "_universal"), "N" or "release". Other names that end in a number do not count.
bool is_step_name(std::string_view name);

inline constexpr const char *kLatestOfMegatron = "latest_checkpointed_iteration.txt", *kLatestOfNanotron = "latest.txt",
                            *kLatestOfDeepspeed = "latest", *kLatestUniversal = "latest_universal";
/// The names of all files in which trainers store the name of their last step.
std::span<const char* const> latest_files();

/// The content of one of latest_files() ("5", "release", "global_step7"), without surrounding blanks and line ends.
/// \error kNotFound: missing, or not a file; kCorrupt: more than 4,096 bytes; kFailed, kMediaError
ckpt::Result<std::string> latest_word(ckpt::Fs& fs, const std::string& path);

}  // namespace titan::convert
