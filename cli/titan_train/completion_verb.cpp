#include <unistd.h>

#include <algorithm>

#include "cli/titan_train/verbs.h"
#include "cli/ui/completion.h"
#include "cli/ui/errors.h"
#include "cli/ui/output.h"
#include "recipe/keys/key_table.h"

namespace titan::train_cli {

int completion_verb(const Arguments& arguments) {
  const auto shell = ui::parse_shell(arguments.command.positionals[0]);
  if (!shell.ok()) return ui::report_error(shell.status(), false, ui::ColorChoice::kAuto);
  ui::Program shown = program();
  // Overrides are read before the table is; whoever takes --set takes the short form as well.
  for (ui::Verb& verb : shown.verbs)
    verb.overrides =
        std::any_of(verb.flags.begin(), verb.flags.end(), [](const ui::Flag& flag) { return flag.name == "set"; });
  std::vector<std::string> keys;
  for (const recipe::Key& key : recipe::key_table())
    if (key.slot != nullptr) keys.push_back(key.name);
  ckpt::Status status;
  (void)ui::deliver(STDOUT_FILENO, ui::completion_script(shown, *shell, keys), &status);
  return status.ok() ? 0 : ui::report_error(status, false, ui::ColorChoice::kAuto);
}

}  // namespace titan::train_cli
