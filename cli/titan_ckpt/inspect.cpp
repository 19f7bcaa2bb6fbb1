#include "ckpt/ops/inspect.h"

#include "cli/titan_ckpt/verbs.h"

namespace titan::cli {

Answer run_inspect(const Request& request) {
  const ckpt::Result<ckpt::InspectReport> report = ckpt::inspect_checkpoint(request.fs, request.command.positionals[0]);
  if (!report.ok()) return {.error = report.status()};
  const ui::InspectView view{request.command.value("tensors"), request.command.has("config")};
  Answer answer{.text = request.json ? ui::inspect_json(*report, view) : ui::inspect_text(*report, view, request.style)};
  if (view.tensors && ckpt::matching_rows(ckpt::tensor_rows(report->manifest), *view.tensors).empty())
    answer.notes.push_back("no tensor matches `" + *view.tensors + "`");
  return answer;
}

}  // namespace titan::cli
