#include "cli/titan_ckpt/inspect.h"

#include "cli/kit/flag_values.h"
#include "cli/kit/progress.h"
#include "cli/kit/stop.h"
#include "converters/import.h"

namespace titan::cli {

Answer run_inspect(const Request& request) {
  ckpt::InspectReport report;
  TITAN_ASSIGN_OR_ANSWER(
      report, ckpt::inspect_checkpoint(request.fs, convert::resolve_any(request.fs, request.command.positionals[0]),
                                       convert::open_any));
  InspectView view{request.command.value("tensors"), request.command.has("config"), {}};
  if (request.command.has("stats") && !view.tensors) view.tensors = "*";
  const std::vector<ckpt::TensorRow> all =
      view.tensors ? ckpt::tensor_rows(report.manifest) : std::vector<ckpt::TensorRow>{};
  const std::vector<ckpt::TensorRow> rows = view.tensors ? ckpt::matching_rows(all, *view.tensors) : all;
  if (view.tensors && rows.empty()) {
    if (const ckpt::Status left_out = ckpt::check_left_out(report.left_out, *view.tensors); !left_out.ok())
      return {.error = left_out};
    return {.error = ckpt::not_found("no tensor matches `" + *view.tensors + "`")
                         .with_hint(ckpt::no_match_hint(all, *view.tensors, request.command.positionals[0]))};
  }
  if (request.command.has("stats")) {
    Progress progress(!request.json);
    progress.begin("inspect --stats");
    ckpt::StatsOptions options;
    options.cancel = stop_on_signals();
    options.open = convert::open_any;
    TITAN_ASSIGN_OR_ANSWER(options.threads, thread_count(request.command));
    options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
    TITAN_ASSIGN_OR_ANSWER(view.stats, ckpt::tensor_statistics(request.fs, report.path, rows, options));
  }
  return {.text = request.json ? inspect_json(report, view) : inspect_text(report, view, request.style)};
}

}  // namespace titan::cli
