#include "cli/titan_ckpt/verify.h"

#include "cli/kit/flag_values.h"
#include "cli/kit/work.h"
#include "cli/titan_ckpt/verbs.h"
#include "converters/view.h"

namespace titan::cli {

Answer run_verify(const Request& request) {
  if (asks_for_signature(request.command)) return run_check_signature(request);
  if (asks_for_repair(request.command)) return run_repair(request);
  ckpt::VerifyOptions options;
  options.target = convert::resolve_any(request.fs, request.command.positionals[0]);
  TITAN_ASSIGN_OR_ANSWER(options.threads, thread_count(request.command));
  const Work work(request, options, "verify ");
  const ckpt::Result<ckpt::VerifySummary> summary = convert::verify_any(request.fs, options);
  if (!summary.ok()) return {.error = summary.status()};
  return {.text = request.json ? verify_json(*summary) : verify_text(*summary, request.style),
          .error = summary->unreadable(),
          .exit_code = summary->damage > 0 ? 1 : 0};
}

}  // namespace titan::cli
