#include "ckpt/ops/diff.h"

#include "cli/titan_ckpt/verbs.h"
#include "cli/ui/progress.h"
#include "cli/ui/stop.h"

namespace titan::cli {

Answer run_diff(const Request& request) {
  ui::Progress progress(!request.json);
  progress.begin("diff");
  ckpt::DiffOptions options;
  options.cancel = ui::stop_on_signals();
  options.a = request.command.positionals[0];
  options.b = request.command.positionals[1];
  options.notes_count = request.command.has("config");
  options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  const ckpt::Result<ckpt::DiffReport> report = ckpt::diff_checkpoints(request.fs, options);
  if (!report.ok()) return {.error = report.status()};
  return {.text = request.json ? ui::diff_json(*report) : ui::diff_text(*report, request.style), .exit_code = report->equal() ? 0 : 1};
}

}  // namespace titan::cli
