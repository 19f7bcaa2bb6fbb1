#include "cli/titan_train/config_text.h"
#include "cli/titan_train/verbs.h"
#include "cli/ui/errors.h"
#include "cli/ui/output.h"
#include "libtrain/start/preview.h"
#include "recipe/plan/run_config.h"
#include "recipe/plan/run_plan.h"

namespace titan::train_cli {

int config_verb(const Arguments& arguments) {
  const bool json = arguments.command.has("json");
  if (arguments.command.has("classes")) {
    ckpt::Status status;
    ui::deliver(1, json ? classes_json() : classes_text(), &status);
    return status.ok() ? 0 : ui::report_error(status, json, ui::ColorChoice::kAuto);
  }
  auto loaded = recipe::load_run_config(arguments.command.positionals[0], arguments.overrides);
  if (!loaded.ok()) return ui::report_error(loaded.status(), json, ui::ColorChoice::kAuto);
  // Keys of the model that are left open are those of the checkpoint that a start would load.
  auto with_model = train::model_of_start(ckpt::posix_fs(), *loaded, arguments.command.value("resume").value_or("auto"),
                                          allow_words(arguments.command), weight_opener());
  if (with_model.ok()) {
    loaded = std::move(with_model);
  } else if (loaded->config.checkpoint.initial_load_path) {
    return ui::report_error(with_model.status(), json, ui::ColorChoice::kAuto);
  } else {
    loaded->warnings.push_back("not filled in from a checkpoint: " + with_model.status().message);
  }
  // What the configuration leaves open is filled in for the number of ranks; one that does not fit any is shown as
  // written.
  const auto nproc = parse_nproc(arguments.command);
  if (!nproc.ok()) return ui::report_error(nproc.status(), json, ui::ColorChoice::kAuto);
  const auto plan = recipe::make_run_plan(loaded->config, static_cast<std::uint32_t>(*nproc));
  if (plan.ok()) {
    loaded->config = recipe::resolved_config(loaded->config, *plan);
  } else {
    loaded->warnings.push_back("not filled in for " + std::to_string(*nproc) + (*nproc == 1 ? " rank: " : " ranks: ") +
                               plan.status().message);
  }
  ckpt::Status status;
  ui::deliver(1, json ? config_json(*loaded) : config_text(*loaded), &status);
  if (!status.ok()) return ui::report_error(status, json, ui::ColorChoice::kAuto);
  for (const std::string& warning : loaded->warnings) ui::report_note(warning, ui::ColorChoice::kAuto);
  return 0;
}

}  // namespace titan::train_cli
