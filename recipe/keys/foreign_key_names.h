#pragma once
// Names of keys in other trainers, for "did you mean". Example: "lr_warmup_iters" means lr_scheduler.warmup_steps.
#include <string_view>
#include <vector>

namespace titan::recipe {

/// The name of a key in another trainer.
struct ForeignKeyName {
  const char* name;  ///< last part of the name in the other program, with "_"
  const char* key;   ///< Titan's key, or a flag ("--nproc N")
  const char* note;  ///< how Titan's key differs; empty if only the name differs
};

/// All known names.
const std::vector<ForeignKeyName>& foreign_key_names();

/// The entry for a typed name, or null. Ignores the section in the name; "-" counts as "_".
const ForeignKeyName* find_foreign_key_name(std::string_view typed);

}  // namespace titan::recipe
