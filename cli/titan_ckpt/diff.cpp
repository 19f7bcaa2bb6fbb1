#include "ckpt/ops/diff.h"

#include <charconv>
#include <cmath>

#include "cli/titan_ckpt/verbs.h"
#include "cli/ui/progress.h"
#include "cli/ui/stop.h"
#include "converters/import.h"

namespace titan::cli {

namespace {

ckpt::Result<double> bound(const Request& request, const char* flag) {
  const std::optional<std::string> text = request.command.value(flag);
  if (!text) return 0.0;
  double value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || !std::isfinite(value) || value < 0)
    return ckpt::invalid("`--" + std::string(flag) + "` is `" + *text +
                         "`, expected a number that is not negative, as 1e-5");
  return value;
}

}  // namespace

Answer run_diff(const Request& request) {
  ui::Progress progress(!request.json);
  progress.begin("diff");
  ckpt::DiffOptions options;
  options.cancel = ui::stop_on_signals();
  options.open = convert::open_any;
  options.a = convert::resolve_any(request.fs, request.command.positionals[0]);
  options.b = convert::resolve_any(request.fs, request.command.positionals[1]);
  options.notes_count = request.command.has("config");
  options.scope.only = request.command.value("only").value_or("");
  if (request.command.has("only") && options.scope.only.empty())
    return {.error = ckpt::invalid("`--only` is empty, expected a pattern as 'layers.0.*'")};
  if (request.command.has("rtol") || request.command.has("atol")) {
    options.scope.tolerance.emplace();
    TITAN_ASSIGN_OR_ANSWER(options.scope.tolerance->rtol, bound(request, "rtol"));
    TITAN_ASSIGN_OR_ANSWER(options.scope.tolerance->atol, bound(request, "atol"));
  }
  TITAN_ASSIGN_OR_ANSWER(options.threads, thread_count(request));
  options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  const ckpt::Result<ckpt::DiffReport> report = ckpt::diff_checkpoints(request.fs, options);
  if (!report.ok()) return {.error = report.status()};
  const bool stats = request.command.has("stats");
  return {.text = request.json ? ui::diff_json(*report, stats) : ui::diff_text(*report, stats, request.style),
          .exit_code = report->equal() ? 0 : 1};
}

}  // namespace titan::cli
