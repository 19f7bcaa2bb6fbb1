#pragma once
// How to resume a run that has ended early: from which step, and with which command line.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace titan::recipe {
struct Config;
}

namespace titan::ckpt {
class Fs;
}

namespace titan::train {

/// The step of the run folder or the near folder that the next start would resume from; nullopt if there is none, or if
/// it cannot be found out.
std::optional<std::uint64_t> step_to_go_on(ckpt::Fs& fs, const recipe::Config& config);

/// The mixture's set that has ended, if step_to_go_on() leaves no samples for another step; empty if the run can be
/// resumed.
std::string set_without_samples(ckpt::Fs& fs, const recipe::Config& config);

/// The command line `words` (program and verb first) without arguments that would be wrong once `step` is saved:
/// --resume never or PATH, checkpoint.load_step, and a debug.stop_at_step that is reached. Unchanged if there is no
/// `step`.
std::vector<std::string> words_to_go_on(const std::vector<std::string>& words, const recipe::Config& config,
                                        std::optional<std::uint64_t> step);

/// `words` without the arguments for `keys`: their values, and their names in --allow. For a line that sets the keys
/// again.
std::vector<std::string> words_without_keys(const std::vector<std::string>& words,
                                            const std::vector<std::string>& keys);

/// `words` as a line for a POSIX shell.
std::string shell_line(const std::vector<std::string>& words);

/// The last line of a run that ends early: "exit 75: saved; the same command continues from step 242: COMMAND". `same`:
/// the command or job is unchanged; `what`: "command" or "job"; `line`: the command line; empty if it is not known.
std::string go_on_line(int exit_code, std::optional<std::uint64_t> step, bool same, const std::string& what,
                       const std::string& line);

/// The last line of a run whose data ended with the set `set`; the same command would be refused.
std::string data_end_line(int exit_code, std::uint64_t step, const std::string& set);

}  // namespace titan::train
