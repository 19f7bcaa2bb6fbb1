#include "cli/titan_ckpt/ls.h"

#include "converters/list.h"

namespace titan::cli {

Answer run_ls(const Request& request) {
  const ckpt::Result<ckpt::ListReport> report = convert::list_any(request.fs, request.command.positionals[0]);
  if (!report.ok() && report.status().code == ckpt::Code::kNotFound) {
    // A folder of runs is no run.
    const auto runs = ckpt::list_runs(request.fs, request.command.positionals[0]);
    if (runs.ok() && !runs->empty())
      return {.text = request.json ? ls_runs_json(request.command.positionals[0], *runs)
                                   : ls_runs_text(*runs, request.style)};
  }
  if (!report.ok()) return {.error = report.status()};
  return {.text = request.json ? ls_json(*report) : ls_text(*report, request.style)};
}

}  // namespace titan::cli
