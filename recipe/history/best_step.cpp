#include "recipe/history/best_step.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "ckpt/base/fs.h"
#include "ckpt/format/member_names.h"
#include "ckpt/run/run_check.h"
#include "ckpt/run/run_resolve.h"
#include "recipe/history/run_metrics.h"

namespace titan::recipe {
namespace {

using ckpt::Code;
using ckpt::Result;

constexpr std::string_view kBest = "@best";

struct Judged {
  double loss = 0;
  const ckpt::StepEntry* step = nullptr;
};

/// The steps of `scan` with their losses, best first.
Result<std::vector<Judged>> judged_steps(ckpt::Fs& fs, const std::string& run, const ckpt::RunScan& scan) {
  std::map<std::uint64_t, double> losses;
  TITAN_ASSIGN_OR_RETURN(const std::string path, find_metrics(fs, run));
  const auto read = read_metrics(fs, path, [&](const MetricsLine& line) {
    if (line.event == "validation" && line.validation_loss && std::isfinite(*line.validation_loss))
      losses[line.step] = *line.validation_loss;
  });
  if (!read.ok()) return read.status();
  std::vector<Judged> judged;
  for (const ckpt::StepEntry& step : scan.steps)
    if (const auto loss = losses.find(step.step); loss != losses.end()) judged.push_back({loss->second, &step});
  std::stable_sort(judged.begin(), judged.end(), [](const Judged& a, const Judged& b) { return a.loss < b.loss; });
  return judged;
}

}  // namespace

Result<std::string> resolve_best(ckpt::Fs& fs, const std::string& spec, std::vector<std::string>* skipped) {
  if (!spec.ends_with(kBest) || spec.size() == kBest.size() || fs.stat(spec).ok()) return spec;
  const std::string run = spec.substr(0, spec.size() - kBest.size());
  TITAN_ASSIGN_OR_RETURN(const std::string folder, ckpt::resolve_run(fs, run));
  TITAN_ASSIGN_OR_RETURN(const ckpt::RunScan scan, ckpt::list_steps(fs, folder));
  ckpt::Status none = ckpt::not_found(run + " has no best step: no step that is there has a validation loss")
                          .with_hint(
                              "a step is judged by the validation of that same step: let validation.freq and "
                              "checkpoint.interval meet");
  const Result<std::vector<Judged>> judged = judged_steps(fs, run, scan);
  if (!judged.ok() && judged.status().code != Code::kNotFound) return judged.status();
  if (!judged.ok()) return none;
  for (const Judged& one : *judged) {
    const ckpt::Status look = ckpt::look_at_step(fs, one.step->path).status();
    if (look.ok()) return one.step->path;
    if (look.code != Code::kCorrupt && look.code != Code::kNotFound) return look;
    none.causes.push_back(ckpt::step_name(one.step->step) + ": " + look.message);
    if (skipped != nullptr) skipped->push_back(none.causes.back());
  }
  return none;
}

}  // namespace titan::recipe
