#include "cli/titan_ckpt/advise.h"

#include "cli/kit/flag_values.h"
#include "cli/kit/units.h"
#include "cli/titan_ckpt/verbs.h"

namespace titan::cli {

Answer run_advise(const Request& request) {
  recipe::AdviseOptions options;
  options.run = request.command.positionals[0];
  const std::optional<std::string> mtbf = request.command.value("mtbf"), budget = request.command.value("budget");
  if (mtbf) {
    const std::optional<double> seconds = parse_duration(*mtbf);
    if (!seconds) return {.error = wrong_value("mtbf", *mtbf, "a time: 90s, 45m, 6h, 1.5d")};
    options.mtbf_s = *seconds;
  }
  if (budget) {
    options.budget = parse_bytes(*budget);
    if (!options.budget) return {.error = wrong_value("budget", *budget, "a size: 100GB, 512MiB, or bytes")};
  }
  const ckpt::Result<recipe::AdviseReport> report = recipe::advise_run(request.fs, options);
  if (!report.ok()) return {.error = report.status()};
  return {.text =
              request.json ? advise_json(*report) : advise_text(*report, options.run, mtbf.has_value(), request.style)};
}

}  // namespace titan::cli
