#include "cli/titan_ckpt/prune.h"

#include <algorithm>

#include "ckpt/base/text.h"

#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"

namespace titan::cli {
namespace {

using ckpt::PrunedDamage;
using ckpt::PrunedStep;
using ckpt::PruneReport;

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
  return format_counted(report.leftovers.size(), "leftover", "leftovers") + " of unfinished saves or deletions";
}

// Of steps and damaged ones.
template <typename Test>
std::ptrdiff_t count_if_any(const PruneReport& report, Test test) {
  return std::count_if(report.steps.begin(), report.steps.end(), test) +
         std::count_if(report.damaged.begin(), report.damaged.end(), test);
}

}  // namespace

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
  const auto goes = count_if_any(report, [](const auto& one) { return one.goes; });
  const auto deleted = count_if_any(report, [](const auto& one) { return one.deleted; });
  const auto thins = std::count_if(report.steps.begin(), report.steps.end(), [](const auto& one) { return one.thins; });
  if (goes == 0 && thins == 0 && report.leftovers.empty()) return out + "nothing to delete\n";
  if (!report.failures.empty())
    return out + "deleted " + std::to_string(deleted) + " of " +
           format_counted(static_cast<std::uint64_t>(goes), "step", "steps") + "\n";
  std::vector<std::string> parts;
  if (goes > 0 || thins == 0)
    parts.push_back((report.dry_run ? "delete " : "deleted ") +
                    format_counted(static_cast<std::uint64_t>(goes), "step", "steps") +
                    (report.leftovers.empty() ? "" : " and " + leftovers_text(report)));
  else if (!report.leftovers.empty())
    parts.push_back((report.dry_run ? "delete " : "deleted ") + leftovers_text(report));
  if (thins > 0)
    parts.push_back((report.dry_run ? "thin " : "thinned ") +
                    format_counted(static_cast<std::uint64_t>(thins), "step", "steps") + " to the model");
  out += (report.dry_run ? "would " : "") + ckpt::joined(parts, ", ");
  out += ": " + format_bytes(report.bytes_freed, style.exact_bytes) + (report.dry_run ? " would be freed" : " freed");
  const std::uint64_t linked = report.bytes_gone - report.bytes_freed;
  if (linked > 0) out += "; " + format_bytes(linked, style.exact_bytes) + " are kept by hard links elsewhere";
  return out + "\n";
}

}  // namespace titan::cli
