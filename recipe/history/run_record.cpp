#include "recipe/history/run_record.h"

#include <algorithm>
#include <cmath>

#include "ckpt/base/toml_text.h"
#include "ckpt/format/member_names.h"
#include "ckpt/run/run_check.h"
#include "ckpt/run/run_resolve.h"
#include "recipe/history/run_metrics.h"

namespace titan::recipe {
namespace {

using ckpt::Code;
using ckpt::Result;
using ckpt::Status;

constexpr const char* kNothing = "nothing";

Status read_lines(ckpt::Fs& fs, const std::string& run, std::uint64_t first, std::uint64_t last, RunRecord& record) {
  const Result<std::string> path = find_metrics(fs, run);
  if (!path.ok()) return path.status().code == Code::kNotFound ? ckpt::ok_status() : path.status();
  return read_metrics(fs, *path,
                      [&](const MetricsLine& line) {
                        if (line.step < first || line.step > last) return;
                        if (line.is_step()) record.steps[line.step] = {line.loss, line.grad_norm, line.lr, line.tokens};
                        if (line.event == "save_commit" && !line.id.empty()) record.ids[line.step] = line.id;
                      })
      .status();
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

std::string number_text(const std::optional<double>& value) { return value ? ckpt::toml_float(*value) : kNothing; }

void compare_values(std::uint64_t step, const StepRecord& published, const StepRecord* computed,
                    RecordComparison& out) {
  const auto look = [&](const char* what, const std::optional<double>& a, std::optional<double> StepRecord::*member) {
    const std::optional<double> b = computed == nullptr ? std::nullopt : computed->*member;
    if (!a || (b && same(*a, *b))) return;
    out.differences.push_back({step, what, number_text(a), number_text(b)});
  };
  look("loss", published.loss, &StepRecord::loss);
  look("gradient norm", published.grad_norm, &StepRecord::grad_norm);
  look("rate", published.lr, &StepRecord::lr);
  look("tokens", published.tokens, &StepRecord::tokens);
}

}  // namespace

Result<RunRecord> read_record(ckpt::Fs& fs, const std::string& folder, std::uint64_t first, std::uint64_t last) {
  RunRecord record;
  TITAN_ASSIGN_OR_RETURN(const std::string steps, ckpt::resolve_run(fs, folder));
  TITAN_RETURN_IF_ERROR(read_lines(fs, folder, first, last, record));
  TITAN_ASSIGN_OR_RETURN(const ckpt::RunScan scan, ckpt::list_steps(fs, steps));
  for (const ckpt::StepEntry& step : scan.steps) {
    if (step.step < first || step.step > last) continue;
    const Result<ckpt::Manifest> manifest = ckpt::look_at_step(fs, step.path);
    if (manifest.status().code == Code::kNotFound || manifest.status().code == Code::kCorrupt) {
      record.notes.push_back("skipped " + ckpt::step_name(step.step) + ": " + manifest.status().message);
      continue;
    }
    if (!manifest.ok()) return manifest.status();
    // A checkpoint without all components has another id than the full one of this step, so it is not compared.
    if (ckpt::missing_components(*manifest).empty()) record.ids[step.step] = manifest->id.hex();
  }
  return record;
}

RecordComparison compare_records(const RunRecord& published, const RunRecord& computed) {
  RecordComparison out;
  for (const auto& [step, values] : published.steps) {
    const auto found = computed.steps.find(step);
    compare_values(step, values, found == computed.steps.end() ? nullptr : &found->second, out);
    ++out.steps;
  }
  for (const auto& [step, id] : published.ids) {
    const auto found = computed.ids.find(step);
    ++out.ids;
    if (found == computed.ids.end() || found->second != id)
      out.differences.push_back({step, "id", id, found == computed.ids.end() ? kNothing : found->second});
  }
  std::stable_sort(out.differences.begin(), out.differences.end(),
                   [](const RecordDifference& a, const RecordDifference& b) { return a.step < b.step; });
  return out;
}

}  // namespace titan::recipe
