#include "cli/ui/completion.h"

#include "cli/titan_ckpt/verbs.h"

namespace titan::cli {

Answer run_completion(const Request& request) {
  const ckpt::Result<ui::Shell> shell = ui::parse_shell(request.command.positionals[0]);
  if (!shell.ok()) return {.error = shell.status()};
  return {.text = ui::completion_script(titan_ckpt_program(), *shell)};
}

}  // namespace titan::cli
