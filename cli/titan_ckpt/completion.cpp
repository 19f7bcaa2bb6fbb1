#include "cli/ui/completion.h"

#include "cli/titan_ckpt/verbs.h"
#include "cli/ui/json_out.h"

namespace titan::cli {

Answer run_completion(const Request& request) {
  const ckpt::Result<ui::Shell> shell = ui::parse_shell(request.command.positionals[0]);
  if (!shell.ok()) return {.error = shell.status()};
  const std::string script = ui::completion_script(titan_ckpt_program(), *shell);
  if (!request.json) return {.text = script};
  ui::JsonOut json;
  json.begin_object();
  json.text("script", script);
  json.end_object();
  return {.text = json.line()};
}

}  // namespace titan::cli
