#pragma once
// How a run goes on that has ended early: which step a start would take, and the command line to type.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "recipe/keys/config.h"

namespace titan::train {

/// The step of the run folder that the next start would take; nothing where there is none, or where that cannot be
/// known.
std::optional<std::uint64_t> step_to_go_on(ckpt::Fs& fs, const recipe::Config& config);

/// The set of the mixture with which the data have ended, where that step leaves no samples for another one; "" where
/// the run can go on.
std::string set_without_samples(ckpt::Fs& fs, const recipe::Config& config);

/// `words` (program and verb first) without what would be wrong once `step` is saved: --resume never or PATH,
/// checkpoint.load_step, and a debug.stop_at_step that is reached. As they are without a step.
std::vector<std::string> words_to_go_on(const std::vector<std::string>& words, const recipe::Config& config,
                                        std::optional<std::uint64_t> step);

/// `words` without what is typed for `keys`: their values, and their names in --allow. For a line that sets them anew.
std::vector<std::string> words_without_keys(const std::vector<std::string>& words,
                                            const std::vector<std::string>& keys);

/// `words` as a line for a POSIX shell.
std::string shell_line(const std::vector<std::string>& words);

/// What the last line of an early end says: "exit 75: saved; the same command goes on from step 242: COMMAND". `what`:
/// "command" or "job"; `line`: empty when nobody knows it.
std::string go_on_line(int exit_code, std::optional<std::uint64_t> step, bool same, const std::string& what,
                       const std::string& line);

/// The same where the data have ended with the set `set`: the same command would be refused.
std::string data_end_line(int exit_code, std::uint64_t step, const std::string& set);

}  // namespace titan::train
