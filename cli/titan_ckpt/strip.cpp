#include "ckpt/ops/strip.h"

#include <ctime>

#include "cli/titan_ckpt/verbs.h"
#include "cli/ui/progress.h"
#include "cli/ui/report_strip.h"
#include "cli/ui/stop.h"
#include "cli/ui/units.h"
#include "cli/ui/version.h"

namespace titan::cli {

Answer run_strip(const Request& request) {
  const ui::Command& command = request.command;
  ckpt::StripOptions options;
  options.src = command.positionals[0];
  options.dst = command.positionals[1];
  options.force = command.has("force");
  options.verify = command.has("verify");
  options.writer = ui::version_line("titan-ckpt") + " strip";
  options.created = ui::format_utc(std::time(nullptr));
  if (const auto keep = command.value("keep")) {
    if (*keep != ckpt::kModel)
      return {.error = ckpt::invalid("`--keep` is `" + *keep + "`, expected model")
                           .with_hint("without --keep everything but the optimizer stays")};
    options.keep = ckpt::StripKeep::kModel;
  }
  if (const auto dtype = command.value("dtype")) {
    if (*dtype != "bf16" && *dtype != "f32")
      return {.error = ckpt::invalid("`--dtype` is `" + *dtype + "`, expected bf16 or f32")};
    options.dtype = *dtype == "bf16" ? ckpt::DType::kBF16 : ckpt::DType::kF32;
  }
  options.cancel = ui::stop_on_signals();
  ui::Progress progress(!request.json);
  progress.begin("strip");
  options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  ckpt::Result<ckpt::StripReport> report = ckpt::plan_strip(request.fs, options);
  if (!report.ok()) return {.error = report.status()};
  if (!command.has("dry-run")) {
    if (const ckpt::Status status = ckpt::write_strip(request.fs, options, *report); !status.ok())
      return {.error = status};
  }
  progress.erase();
  return {.text = request.json ? ui::strip_json(*report) : ui::strip_text(*report, request.style),
          .notes = report->warnings};
}

}  // namespace titan::cli
