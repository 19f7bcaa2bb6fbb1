#include "cli/titan_ckpt/log.h"

#include "cli/titan_ckpt/verbs.h"
#include "recipe/keys/rows.h"

namespace titan::cli {

Answer run_log(const Request& request) {
  const ckpt::Result<ckpt::RunHistory> history = ckpt::read_history(request.fs, request.command.positionals[0]);
  if (!history.ok()) return {.error = history.status()};
  return {.text = request.json ? log_json(*history) : log_text(*history, request.style)};
}

Answer run_blame(const Request& request) {
  const ckpt::Result<ckpt::RunHistory> history = ckpt::read_history(request.fs, request.command.positionals[0]);
  if (!history.ok()) return {.error = history.status()};
  const std::string key = recipe::canonical_name(request.command.positionals[1]);
  const ckpt::Result<std::vector<ckpt::KeyOrigin>> origins = ckpt::blame_key(*history, key);
  if (!origins.ok()) return {.error = origins.status()};
  return {.text =
              request.json ? blame_json(*history, key, *origins) : blame_text(*history, key, *origins, request.style)};
}

}  // namespace titan::cli
