#include "ckpt/base/printed.h"
#include "cli/titan_ckpt/verbs.h"

#include <algorithm>

#include "ckpt/base/text.h"
#include "ckpt/ops/prune.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/json_out.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/kit/version.h"
#include "cli/kit/work.h"

namespace titan::cli {
namespace {

using ckpt::PrunedDamage;
using ckpt::PrunedStep;
using ckpt::PruneReport;
using ckpt::Result;
using ckpt::Status;

Cell verdict(bool goes, bool deleted, Role stays, bool dry_run) {
  if (!goes) return {"stays", stays};
  if (dry_run) return {"would go", Role::kWarning};
  return deleted ? Cell{"deleted", Role::kWarning} : Cell{"not deleted", Role::kError};
}

Cell verdict(const PrunedStep& step, bool dry_run) {
  if (!step.thins) return verdict(step.goes, step.deleted, step.valid ? Role::kOk : Role::kError, dry_run);
  if (dry_run) return {"would thin", Role::kWarning};
  return step.thinned ? Cell{"thinned", Role::kWarning} : Cell{"not thinned", Role::kError};
}

std::string leftovers_text(const PruneReport& report) {
  return ckpt::counted(report.leftovers.size(), "leftover") + " of unfinished saves or deletions";
}

// Of steps and damaged ones.
template <typename Test>
std::ptrdiff_t count_if_any(const PruneReport& report, Test test) {
  return std::count_if(report.steps.begin(), report.steps.end(), test) +
         std::count_if(report.damaged.begin(), report.damaged.end(), test);
}

template <typename One>
std::string kept_line(const One& one, const std::string& name, const PruneReport& report) {
  if (one.stay.empty() || (!report.dry_run && one.kept.empty())) return "";
  const std::string more = one.stay.size() > 1 ? " and " + std::to_string(one.stay.size() - 1) + " more" : "";
  return (report.dry_run ? "would keep " : "kept ") + escape(one.stay.front()) + more + " of " + name +
         (one.kept.empty() ? std::string(": not of Titan") : " in " + escape(one.kept)) + "\n";
}

void kept_members(JsonOut& json, const std::vector<std::string>& stay, const std::string& kept) {
  json.paths("stay", "path", stay);
  if (kept.empty())
    json.null("kept");
  else
    json.path("kept", kept);
}

Status read_rules(const Command& command, ckpt::PruneRules& rules) {
  for (const auto& [flag, rule] : {std::pair("keep-last", &rules.keep_last), std::pair("keep-every", &rules.keep_every),
                                   std::pair("thin", &rules.thin)})
    TITAN_RETURN_IF_ERROR(
        read_flag(command, flag, "a whole number of 1 or more", number_from<std::uint64_t>(1), *rule));
  for (const std::string& list : command.all("keep")) {
    for (const std::string& text : ckpt::split(list, ',')) {
      const std::optional<std::uint64_t> step = ckpt::number_of<std::uint64_t>(text);
      if (!step) return wrong_value("keep", text, "a whole number of 0 or more");
      rules.keep.push_back(*step);
    }
  }
  return ckpt::ok_status();
}

Status outcome(const ckpt::PruneReport& report) {
  if (!report.blocked.ok() || report.failures.empty()) return report.blocked;
  Status status = ckpt::failed(std::to_string(report.failures.size()) + " of the deletions failed")
                      .with_hint("run it again: what is left is unchanged, or in .trash-* folders");
  status.causes = report.failures;
  return status;
}

std::string prune_text(const PruneReport& report, const TextStyle& style) {
  Table table({{"step", Align::kRight}, {"size", Align::kRight}, {}, {}});
  for (const PrunedStep& step : report.steps) {
    table.row({std::to_string(step.step), format_bytes(step.bytes, style.exact_bytes), verdict(step, report.dry_run),
               escape(step.why)});
  }
  for (const PrunedDamage& damage : report.damaged) {
    table.row({escape(damage.name), format_bytes(damage.bytes, style.exact_bytes),
               verdict(damage.goes, damage.deleted, Role::kError, report.dry_run), escape(damage.why)});
  }
  std::string out = table.empty() ? "no checkpoints in " + escape(report.folder) + "\n" : table.render(style.palette);
  for (const std::string& path : report.restored)
    out += std::string(report.dry_run ? "would put back " : "put back ") + escape(path) +
           ", which an interrupted tool had moved aside\n";
  for (const PrunedStep& step : report.steps) out += kept_line(step, "step " + std::to_string(step.step), report);
  for (const PrunedDamage& damage : report.damaged) out += kept_line(damage, escape(damage.name), report);
  const auto goes = count_if_any(report, [](const auto& one) { return one.goes; });
  const auto deleted = count_if_any(report, [](const auto& one) { return one.deleted; });
  const auto thins = std::count_if(report.steps.begin(), report.steps.end(), [](const auto& one) { return one.thins; });
  if (goes == 0 && thins == 0 && report.leftovers.empty()) return out + "nothing to delete\n";
  if (!report.failures.empty())
    return out + "deleted " + std::to_string(deleted) + " of " +
           ckpt::counted(static_cast<std::uint64_t>(goes), "step") + "\n";
  std::vector<std::string> parts;
  if (goes > 0 || thins == 0)
    parts.push_back((report.dry_run ? "delete " : "deleted ") +
                    ckpt::counted(static_cast<std::uint64_t>(goes), "step") +
                    (report.leftovers.empty() ? "" : " and " + leftovers_text(report)));
  else if (!report.leftovers.empty())
    parts.push_back((report.dry_run ? "delete " : "deleted ") + leftovers_text(report));
  if (thins > 0)
    parts.push_back((report.dry_run ? "thin " : "thinned ") + ckpt::counted(static_cast<std::uint64_t>(thins), "step") +
                    " to the model");
  out += (report.dry_run ? "would " : "") + ckpt::joined(parts, ", ");
  out += ": " + format_bytes(report.bytes_freed, style.exact_bytes) + (report.dry_run ? " would be freed" : " freed");
  const std::uint64_t linked = report.bytes_gone - report.bytes_freed;
  if (linked > 0) out += "; " + format_bytes(linked, style.exact_bytes) + " are kept by hard links elsewhere";
  return out + "\n";
}

std::string prune_json(const ckpt::PruneReport& report) {
  JsonOut json("titan.prune/1");
  json.path("folder", report.folder);
  json.flag("dry_run", report.dry_run);
  json.each("steps", report.steps, [&](const ckpt::PrunedStep& step) {
    json.count("step", step.step);
    json.path("path", step.path);
    json.members("valid", step.valid, "goes", step.goes, "deleted", step.deleted, "why", step.why, "bytes", step.bytes,
                 "thins", step.thins, "thinned", step.thinned);
    kept_members(json, step.stay, step.kept);
  });
  json.each("damaged", report.damaged, [&](const ckpt::PrunedDamage& damage) {
    json.path("name", damage.name);
    json.members("goes", damage.goes, "deleted", damage.deleted, "why", damage.why, "bytes", damage.bytes);
    kept_members(json, damage.stay, damage.kept);
  });
  json.paths("restored", "path", report.restored);
  json.paths("leftovers", "name", report.leftovers);
  json.members("bytes_gone", report.bytes_gone, "bytes_freed", report.bytes_freed, "verified", report.verified);
  json.members("failures", report.failures);
  return json.document();
}

}  // namespace

ckpt::Result<Answer> run_prune(const Request& request) {
  ckpt::PruneOptions options;
  options.run = request.command.positionals[0];
  options.damaged = request.command.has("damaged");
  options.dry_run = request.command.has("dry-run");
  TITAN_RETURN_IF_ERROR(read_rules(request.command, options.rules));
  options.writer = version_line("titan-ckpt") + " prune --thin";
  options.created = format_utc(request.style.now);
  const Work work(request, options, "verify ");
  TITAN_ASSIGN_OR_RETURN(const ckpt::PruneReport report, ckpt::prune_run(request.fs, options));
  Answer answer{.text = request.json ? prune_json(report) : prune_text(report, request.style),
                .error = outcome(report)};
  if (!options.rules.empty() || options.damaged) return answer;
  // Without a rule, prune removes leftovers of interrupted runs and tools. Without leftovers it has done nothing, so a
  // rule was probably forgotten.
  if (answer.error.ok() && report.leftovers.empty() && report.restored.empty())
    answer.error = ckpt::invalid("no rule was given: every step stays")
                       .with_hint(
                           "say what stays: --keep-last N, --keep-every N, --keep STEP[,STEP]; --dry-run shows "
                           "what would go");
  else
    answer.notes.push_back("no rule was given (--keep-last, --keep-every, --keep): every step stays");
  return answer;
}

}  // namespace titan::cli
