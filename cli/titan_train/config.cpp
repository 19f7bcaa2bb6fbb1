#include "cli/titan_train/config.h"

#include "cli/kit/errors.h"
#include "cli/titan_train/config_text.h"
#include "cli/titan_train/ranks.h"
#include "cli/titan_train/weights.h"
#include "libtrain/start/preview.h"
#include "recipe/plan/run_config.h"
#include "recipe/plan/run_plan.h"

namespace titan::cli {

Answer run_config(const Request& request) {
  const Command& command = request.command;
  if (command.has("classes")) return {.text = request.json ? classes_json() : classes_text()};
  auto loaded = recipe::load_run_config(command.positionals[0], command.overrides);
  if (!loaded.ok()) return {.error = loaded.status()};
  // Keys of the model that are left open are those of the checkpoint that a start would load.
  auto with_model = train::model_of_start(
      request.fs, {*loaded, command.value("resume").value_or("auto"), command.all("allow"), 1, weight_opener()});
  if (with_model.ok()) {
    loaded = std::move(with_model);
  } else if (loaded->config.checkpoint.initial_load_path) {
    return {.error = with_model.status()};
  } else {
    loaded->warnings.push_back("not filled in from a checkpoint: " + with_model.status().message);
  }
  // What the configuration leaves open is filled in for the number of ranks; one that does not fit any is shown as
  // written.
  int nproc = 1;
  TITAN_ASSIGN_OR_ANSWER(nproc, parse_nproc(command));
  const auto plan = recipe::make_run_plan(loaded->config, static_cast<std::uint32_t>(nproc));
  if (plan.ok()) {
    loaded->config = recipe::resolved_config(loaded->config, *plan);
  } else {
    loaded->warnings.push_back("not filled in for " + std::to_string(nproc) + (nproc == 1 ? " rank: " : " ranks: ") +
                               plan.status().message);
  }
  // With --json the warnings go to stderr, too.
  if (request.json)
    for (const std::string& warning : loaded->warnings) report_note(warning, request.color);
  return {.text = request.json ? config_json(*loaded) : config_text(*loaded), .notes = loaded->warnings};
}

}  // namespace titan::cli
