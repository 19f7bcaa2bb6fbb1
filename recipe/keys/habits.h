#pragma once
// What other trainers call a key: "did you mean", by meaning.
#include <string>
#include <string_view>
#include <vector>

namespace titan::recipe {

struct Habit {
  const char* name;  ///< of the other program; the last part, with "_"
  const char* key;   ///< ours, or a flag ("--nproc N")
  const char* note;  ///< what is different about ours; empty where the name alone is
};

const std::vector<Habit>& habits();

/// The habit that a typed name shows: sections and "-" do not count; null for none.
const Habit* find_habit(std::string_view typed);

}  // namespace titan::recipe
