#include "cli/titan_train/verbs.h"
#include "cli/ui/errors.h"
#include "cli/ui/output.h"
#include "libtrain/config/loader.h"
#include "libtrain/config/writer.h"

namespace titan::train_cli {

int config_verb(const Arguments& arguments) {
  const bool json = arguments.command.has("json");
  const auto loaded = train::load_config(arguments.command.positionals[0], arguments.overrides);
  if (!loaded.ok()) return ui::report_error(loaded.status(), json, ui::ColorChoice::kAuto);
  ckpt::Status status;
  ui::deliver(1, json ? train::describe_config_json(*loaded) : train::describe_config(*loaded), &status);
  if (!status.ok()) return ui::report_error(status, json, ui::ColorChoice::kAuto);
  for (const std::string& warning : loaded->warnings) ui::report_note(warning, ui::ColorChoice::kAuto);
  return 0;
}

}  // namespace titan::train_cli
