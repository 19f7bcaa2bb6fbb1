#include "cli/titan_ckpt/prune.h"

#include "ckpt/base/text.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/progress.h"
#include "cli/kit/stop.h"
#include "cli/kit/units.h"
#include "cli/kit/version.h"

namespace titan::cli {

namespace {

using ckpt::Result;
using ckpt::Status;

Result<std::uint64_t> number(const std::string& flag, const std::string& text, std::uint64_t least) {
  const std::optional<std::uint64_t> value = ckpt::number_of<std::uint64_t>(text);
  if (!value || *value < least)
    return wrong_value(flag, text, "a whole number of " + std::to_string(least) + " or more");
  return *value;
}

Status read_rules(const Command& command, ckpt::PruneRules& rules) {
  if (const auto text = command.value("keep-last")) {
    TITAN_ASSIGN_OR_RETURN(rules.keep_last, number("keep-last", *text, 1));
  }
  if (const auto text = command.value("keep-every")) {
    TITAN_ASSIGN_OR_RETURN(rules.keep_every, number("keep-every", *text, 1));
  }
  if (const auto text = command.value("thin")) {
    TITAN_ASSIGN_OR_RETURN(rules.thin, number("thin", *text, 1));
  }
  for (const std::string& list : command.all("keep")) {
    for (const std::string& text : ckpt::split(list, ',')) {
      TITAN_ASSIGN_OR_RETURN(const std::uint64_t step, number("keep", text, 0));
      rules.keep.push_back(step);
    }
  }
  return ckpt::ok_status();
}

Status outcome(const ckpt::PruneReport& report) {
  if (!report.waits.ok() || report.failures.empty()) return report.waits;
  Status status = ckpt::failed(std::to_string(report.failures.size()) + " of the deletions failed")
                      .with_hint("run it again: what is left lies in .trash-* folders or as it was");
  status.causes = report.failures;
  return status;
}

}  // namespace

Answer run_prune(const Request& request) {
  ckpt::PruneOptions options;
  options.run = request.command.positionals[0];
  options.damaged = request.command.has("damaged");
  options.dry_run = request.command.has("dry-run");
  if (Status status = read_rules(request.command, options.rules); !status.ok()) return {.error = std::move(status)};
  options.writer = version_line("titan-ckpt") + " prune --thin";
  options.created = format_utc(request.style.now);
  options.cancel = stop_on_signals();
  Progress progress(!request.json);
  options.begin = [&](const std::string& path) { progress.begin("verify " + path); };
  options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  const Result<ckpt::PruneReport> report = ckpt::prune_run(request.fs, options);
  if (!report.ok()) return {.error = report.status()};
  Answer answer{.text = request.json ? prune_json(*report) : prune_text(*report, request.style),
                .error = outcome(*report)};
  if (!options.rules.empty() || options.damaged) return answer;
  // Without a rule it cleans up after dead runs and tools; where there is nothing of that it was not meant.
  if (answer.error.ok() && report->leftovers.empty() && report->restored.empty())
    answer.error = ckpt::invalid("no rule was given: every step stays")
                       .with_hint(
                           "say what stays: --keep-last N, --keep-every N, --keep STEP[,STEP]; --dry-run shows "
                           "what would go");
  else
    answer.notes.push_back("no rule was given (--keep-last, --keep-every, --keep): every step stays");
  return answer;
}

}  // namespace titan::cli
