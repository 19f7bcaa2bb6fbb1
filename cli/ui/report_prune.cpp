#include <algorithm>

#include "cli/ui/reports.h"
#include "cli/ui/table.h"
#include "cli/ui/text.h"
#include "cli/ui/units.h"

namespace titan::ui {

namespace {

using ckpt::PrunedDamage;
using ckpt::PrunedStep;
using ckpt::PruneReport;

Cell verdict(bool goes, bool deleted, Role stays, bool dry_run) {
  if (!goes) return {"stays", stays};
  if (dry_run) return {"would go", Role::kWarning};
  return deleted ? Cell{"deleted", Role::kWarning} : Cell{"not deleted", Role::kError};
}

std::string count_of(std::size_t count, const char* one, const char* many) {
  return std::to_string(count) + (count == 1 ? one : many);
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
    table.row({std::to_string(step.step), format_bytes(step.bytes, style.exact_bytes),
               verdict(step.goes, step.deleted, step.valid ? Role::kOk : Role::kError, report.dry_run),
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
  if (goes == 0 && report.leftovers.empty()) return out + "nothing to delete\n";
  if (!report.failures.empty())
    return out + "deleted " + std::to_string(deleted) + " of " +
           count_of(static_cast<std::size_t>(goes), " step", " steps") + "\n";
  out += report.dry_run ? "would delete " : "deleted ";
  out += count_of(static_cast<std::size_t>(goes), " step", " steps");
  if (!report.leftovers.empty())
    out += " and " + count_of(report.leftovers.size(), " leftover", " leftovers") + " of unfinished saves or deletions";
  out += ": " + format_bytes(report.bytes_freed, style.exact_bytes) + (report.dry_run ? " would be freed" : " freed");
  const std::uint64_t linked = report.bytes_gone - report.bytes_freed;
  if (linked > 0) out += "; " + format_bytes(linked, style.exact_bytes) + " are kept by hard links elsewhere";
  return out + "\n";
}

std::string prune_json(const PruneReport& report) {
  JsonOut json;
  json.begin_object();
  json.text("schema", "titan.prune/1");
  json.path("folder", report.folder);
  json.flag("dry_run", report.dry_run);
  json.begin_array("steps");
  for (const PrunedStep& step : report.steps) {
    json.begin_object();
    json.count("step", step.step);
    json.path("path", step.path);
    json.flag("valid", step.valid);
    json.flag("goes", step.goes);
    json.flag("deleted", step.deleted);
    json.text("why", step.why);
    json.count("bytes", step.bytes);
    json.end_object();
  }
  json.end_array();
  json.begin_array("damaged");
  for (const PrunedDamage& damage : report.damaged) {
    json.begin_object();
    json.path("name", damage.name);
    json.flag("goes", damage.goes);
    json.flag("deleted", damage.deleted);
    json.text("why", damage.why);
    json.count("bytes", damage.bytes);
    json.end_object();
  }
  json.end_array();
  json.begin_array("restored");
  for (const std::string& path : report.restored) {
    json.begin_object();
    json.path("path", path);
    json.end_object();
  }
  json.end_array();
  json.begin_array("leftovers");
  for (const std::string& name : report.leftovers) {
    json.begin_object();
    json.path("name", name);
    json.end_object();
  }
  json.end_array();
  json.count("bytes_gone", report.bytes_gone);
  json.count("bytes_freed", report.bytes_freed);
  if (report.verified) {
    json.count("verified", *report.verified);
  } else {
    json.null("verified");
  }
  json.begin_array("failures");
  for (const std::string& failure : report.failures) json.text(failure);
  json.end_array();
  json.end_object();
  return json.line();
}

}  // namespace titan::ui
