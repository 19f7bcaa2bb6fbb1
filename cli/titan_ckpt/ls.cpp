#include "cli/titan_ckpt/ls.h"

#include <algorithm>

#include "cli/titan_ckpt/verbs.h"
#include "converters/list.h"

namespace titan::cli {

namespace {

bool only_foreign(const ckpt::ListReport& report) {
  return !report.steps.empty() &&
         std::ranges::none_of(report.steps, [](const ckpt::ListedStep& step) { return step.name.empty(); });
}

}  // namespace

Answer run_ls(const Request& request) {
  const ckpt::Result<ckpt::ListReport> report = convert::list_any(request.fs, request.command.positionals[0]);
  const bool none = !report.ok() && report.status().code == ckpt::Code::kNotFound;
  // A folder of runs is no run, and exports often lie beside them.
  if (none || (report.ok() && only_foreign(*report))) {
    const auto runs = ckpt::list_runs(request.fs, request.command.positionals[0]);
    if (runs.ok() && !runs->empty())
      return {.text = request.json ? ls_runs_json(request.command.positionals[0], *runs)
                                   : ls_runs_text(*runs, request.style)};
  }
  if (!report.ok()) return {.error = report.status()};
  return {.text = request.json ? ls_json(*report) : ls_text(*report, request.style)};
}

}  // namespace titan::cli
