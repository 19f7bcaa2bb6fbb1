#include "cli/titan_ckpt/strip.h"

#include <ctime>

#include "cli/kit/flag_values.h"
#include "cli/kit/progress.h"
#include "cli/kit/stop.h"
#include "cli/kit/units.h"
#include "cli/kit/version.h"

namespace titan::cli {

Answer run_strip(const Request& request) {
  const Command& command = request.command;
  ckpt::StripOptions options;
  options.src = command.positionals[0];
  options.dst = command.positionals[1];
  options.force = command.has("force");
  options.verify = command.has("verify");
  options.writer = version_line("titan-ckpt") + " strip";
  options.created = format_utc(std::time(nullptr));
  if (const auto keep = command.value("keep")) {
    if (*keep != ckpt::kModel)
      return {.error =
                  wrong_value("keep", *keep, "model").with_hint("without --keep everything but the optimizer stays")};
    options.keep = ckpt::StripKeep::kModel;
  }
  if (const auto dtype = command.value("dtype")) {
    if (*dtype != "bf16" && *dtype != "f32") return {.error = wrong_value("dtype", *dtype, "bf16 or f32")};
    options.dtype = *dtype == "bf16" ? ckpt::DType::kBF16 : ckpt::DType::kF32;
  }
  options.cancel = stop_on_signals();
  Progress progress(!request.json);
  progress.begin("strip");
  options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  ckpt::Result<ckpt::StripReport> report = ckpt::plan_strip(request.fs, options);
  if (!report.ok()) return {.error = report.status()};
  if (!command.has("dry-run")) {
    if (const ckpt::Status status = ckpt::write_strip(request.fs, options, *report); !status.ok())
      return {.error = status};
  }
  progress.erase();
  return {.text = request.json ? strip_json(*report) : strip_text(*report, request.style), .notes = report->warnings};
}

}  // namespace titan::cli
