#include "converters/list.h"

#include <algorithm>
#include <functional>
#include <set>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/format/member_names.h"
#include "ckpt/run/run_resolve.h"
#include "converters/companions.h"
#include "converters/run_names.h"
#include "recipe/history/run_metrics.h"

namespace titan::convert {
namespace {

// The step in a folder's name; 0 if there is none.
std::uint64_t step_in_name(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return step_of_name(path.substr(path.rfind('/') + 1)).value_or(0);
}

ckpt::ListedStep listed(Fs& fs, const Format& format, const std::string& path) {
  ckpt::ListedStep step;
  step.path = path;
  step.step = step_in_name(path);
  step.bytes = ckpt::tree_bytes(fs, path);
  if (const auto info = fs.stat(path); info.ok()) {
    step.mtime_ns = info->mtime_ns;
    if (info->type == ckpt::FileType::kFile) step.bytes = info->size;
  }
  const auto source = format.open(fs, path);
  step.valid = source.ok();
  step.reason = source.ok() ? std::string(format.title()) + ": `titan-ckpt convert` makes a Titan checkpoint of it"
                            : source.status().message;
  return step;
}

// Whether a link has the name of a step and leads to a folder.
bool links_to_step(Fs& fs, const std::string& folder, const std::string& name) {
  const auto info = fs.stat(through_link(fs, ckpt::join_path(folder, name)));
  return is_step_name(name) && info.ok() && info->type == ckpt::FileType::kDirectory;
}

// The entry for a folder that has the name of a step but holds no complete checkpoint: a save was interrupted, or a
// part was deleted.
ckpt::ListedStep incomplete_step(Fs& fs, const std::string& path) {
  ckpt::ListedStep step;
  step.path = path;
  step.step = step_in_name(path);
  step.bytes = ckpt::tree_bytes(fs, path);
  if (const auto info = fs.stat(path); info.ok()) step.mtime_ns = info->mtime_ns;
  step.reason = explained(fs, path, ckpt::not_found("no whole checkpoint of a format that is known here")).message;
  return step;
}

// Which of these incomplete steps are listed: none, only if complete steps are in the same folder, or all.
enum class IncompleteSteps { kNone, kNextToComplete, kAll };

std::vector<ckpt::ListedStep> foreign_steps(Fs& fs, const std::string& folder,
                                            IncompleteSteps incomplete = IncompleteSteps::kNextToComplete) {
  std::vector<ckpt::ListedStep> steps;
  std::vector<std::string> rest;
  const auto entries = fs.list(folder);
  if (!entries.ok()) return steps;
  for (const ckpt::DirEntry& entry : *entries) {
    const bool link = entry.type == ckpt::FileType::kLink && links_to_step(fs, folder, entry.name);
    if (entry.type != ckpt::FileType::kDirectory && !link) continue;
    const std::string path = ckpt::join_path(folder, entry.name);
    // A step whose format cannot be detected is omitted here; list_run reports the error.
    const auto format = detect_format(fs, path);
    if (format.ok() && *format != nullptr) {
      steps.push_back(listed(fs, **format, path));
      steps.back().name = entry.name;
      if (link) steps.back().link = through_link(fs, path);
    } else if (format.ok() && is_step_name(entry.name) &&
               std::string_view("0123456789").find(entry.name.front()) == std::string_view::npos &&
               !fs.stat(ckpt::join_path(path, ckpt::kManifestFile)).ok()) {
      rest.push_back(entry.name);
    }
  }
  if (incomplete == IncompleteSteps::kNone || (incomplete == IncompleteSteps::kNextToComplete && steps.empty()))
    rest.clear();
  for (const std::string& name : rest) {
    steps.push_back(incomplete_step(fs, ckpt::join_path(folder, name)));
    steps.back().name = name;
  }
  std::ranges::sort(steps, {}, &ckpt::ListedStep::name);
  return steps;
}

void newest_first(std::vector<ckpt::ListedStep>& steps) {
  std::ranges::stable_sort(steps, [](const ckpt::ListedStep& a, const ckpt::ListedStep& b) { return a.step > b.step; });
}

// A folder that `format` recognises: one checkpoint, a run that names its last step, or a model with the training
// checkpoints next to it (transformers' Trainer).
ckpt::ListReport list_known(Fs& fs, const Format& format, const std::string& run) {
  ckpt::ListReport report;
  report.folder = run;
  report.steps = foreign_steps(fs, run, IncompleteSteps::kAll);
  std::erase_if(report.steps, [](const ckpt::ListedStep& step) { return !is_step_name(step.name); });
  bool names_last = false;
  for (const char* name : latest_files()) names_last = names_last || latest_word(fs, ckpt::join_path(run, name)).ok();
  const bool is_run = names_last && std::ranges::any_of(report.steps, [&](const ckpt::ListedStep& step) {
                        const auto of_step = detect_format(fs, step.path);
                        return of_step.ok() && *of_step == &format;
                      });
  if (!is_run) report.steps.push_back(listed(fs, format, run));
  newest_first(report.steps);
  return report;
}

}  // namespace

std::string resolve_any(Fs& fs, const std::string& spec) {
  const std::size_t sign = spec.rfind('@');
  if (sign == std::string::npos || sign == 0 || fs.stat(spec).ok()) return spec;
  if (ckpt::resolve_checkpoint(fs, spec).status().code != ckpt::Code::kNotFound) return spec;
  const std::string run = spec.substr(0, sign), wanted = spec.substr(sign + 1);
  std::vector<ckpt::ListedStep> steps;
  for (const std::string& folder : {ckpt::join_path(run, "checkpoint"), run})
    if (steps.empty()) steps = foreign_steps(fs, folder);
  newest_first(steps);
  for (const ckpt::ListedStep& step : steps)
    if (wanted == "latest" ? step.valid : wanted == std::to_string(step.step)) return step.path;
  return spec;
}

std::vector<std::string> words_after_run(Fs& fs, const std::string& run) {
  std::set<std::uint64_t, std::greater<>> steps;
  for (const std::string& folder : {ckpt::join_path(run, "checkpoint"), run}) {
    const auto entries = fs.list(folder);
    if (!entries.ok()) continue;
    for (const ckpt::DirEntry& entry : *entries) {
      const auto ours = ckpt::step_of(entry);
      const std::uint64_t step = ours ? *ours : step_in_name(entry.name);
      const bool folder_of_step = ours || (entry.type == ckpt::FileType::kDirectory && step > 0);
      if (folder_of_step) steps.insert(step);
    }
    if (!steps.empty()) break;
  }
  std::vector<std::string> words;
  if (!steps.empty()) words.push_back("latest");
  if (!steps.empty() && recipe::find_metrics(fs, run).ok()) words.push_back("best");
  for (const std::uint64_t step : steps) words.push_back(std::to_string(step));
  return words;
}

Result<ckpt::ListReport> list_any(Fs& fs, const std::string& run) {
  TITAN_ASSIGN_OR_RETURN(const Format* format, detect_format(fs, run));
  if (format != nullptr) return list_known(fs, *format, run);
  Result<ckpt::ListReport> report = ckpt::list_run(fs, run);
  if (!report.ok()) {
    if (report.status().code != ckpt::Code::kNotFound) return report;
    ckpt::ListReport foreign;
    foreign.folder = run;
    foreign.steps = foreign_steps(fs, run);
    if (foreign.steps.empty()) return explained(fs, run, report.status());
    report = std::move(foreign);
  } else {
    for (ckpt::ListedStep& step : foreign_steps(fs, report->folder, IncompleteSteps::kNone)) {
      const std::string name = ckpt::base_name(step.path);
      if (std::erase(report->foreign, name) > 0) report->steps.push_back(std::move(step));
    }
  }
  newest_first(report->steps);
  return report;
}

}  // namespace titan::convert
