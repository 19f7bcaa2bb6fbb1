#pragma once
// What other trainers call a key, for "did you mean". Example: "lr_warmup_iters" means lr_scheduler.warmup_steps.
#include <string>
#include <string_view>
#include <vector>

namespace titan::recipe {

struct Habit {
  const char* name;  ///< of the other program; the last part, with "_"
  const char* key;   ///< ours, or a flag ("--nproc N")
  const char* note;  ///< how ours differs; empty when only the name does
};

const std::vector<Habit>& habits();

/// The habit of a typed name, or null. Its section is ignored, and "-" counts as "_".
const Habit* find_habit(std::string_view typed);

}  // namespace titan::recipe
