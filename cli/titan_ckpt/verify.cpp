#include "ckpt/ops/verify.h"

#include "cli/titan_ckpt/verbs.h"
#include "cli/ui/progress.h"
#include "cli/ui/stop.h"
#include "converters/import.h"

namespace titan::cli {

Answer run_verify(const Request& request) {
  ui::Progress progress(!request.json);
  ckpt::VerifyOptions options;
  options.cancel = ui::stop_on_signals();
  options.target = convert::resolve_any(request.fs, request.command.positionals[0]);
  TITAN_ASSIGN_OR_ANSWER(options.threads, thread_count(request));
  options.begin = [&](const std::string& path) { progress.begin("verify " + path); };
  options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  const ckpt::Result<ckpt::VerifySummary> summary = convert::verify_any(request.fs, options);
  if (!summary.ok()) return {.error = summary.status()};
  return {.text = request.json ? ui::verify_json(*summary) : ui::verify_text(*summary, request.style),
          .error = summary->unreadable(),
          .exit_code = summary->damage > 0 ? 1 : 0};
}

}  // namespace titan::cli
