#include "converters/list.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>

#include "ckpt/run/run_resolve.h"
#include "recipe/record/run_metrics.h"

namespace titan::convert {
namespace {

// The digits at the end of a folder's name: torchtitan has "step-10", transformers' trainer "checkpoint-10", nanotron
// "10", Megatron "iter_0000010".
std::uint64_t step_in_name(const std::string& path) {
  std::size_t end = path.size();
  while (end > 0 && path[end - 1] == '/') --end;
  std::size_t begin = end;
  while (begin > 0 && path[begin - 1] >= '0' && path[begin - 1] <= '9') --begin;
  std::uint64_t step = 0;
  if (begin == 0 || std::string_view("-_/").find(path[begin - 1]) != std::string_view::npos)
    std::from_chars(path.data() + begin, path.data() + end, step);
  return step;
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
  step.reason = source.ok() ? std::string(format.title()) + ": `titan-ckpt convert` makes it one of ours"
                            : source.status().message;
  return step;
}

std::vector<ckpt::ListedStep> foreign_steps(Fs& fs, const std::string& folder) {
  std::vector<ckpt::ListedStep> steps;
  const auto entries = fs.list(folder);
  if (!entries.ok()) return steps;
  for (const ckpt::DirEntry& entry : *entries) {
    if (entry.type != ckpt::FileType::kDirectory) continue;
    const std::string path = ckpt::join_path(folder, entry.name);
    // A step that cannot be looked at is left out here: list_run reports what is wrong with the folder.
    const auto format = detect_format(fs, path);
    if (!format.ok() || *format == nullptr) continue;
    steps.push_back(listed(fs, **format, path));
    steps.back().name = entry.name;
  }
  std::ranges::sort(steps, {}, &ckpt::ListedStep::name);
  return steps;
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
  std::ranges::stable_sort(steps, [](const ckpt::ListedStep& a, const ckpt::ListedStep& b) { return a.step > b.step; });
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
  if (format != nullptr) {
    ckpt::ListReport report;
    report.folder = run;
    report.steps.push_back(listed(fs, *format, run));
    return report;
  }
  Result<ckpt::ListReport> report = ckpt::list_run(fs, run);
  if (!report.ok()) {
    if (report.status().code != ckpt::Code::kNotFound) return report;
    ckpt::ListReport foreign;
    foreign.folder = run;
    foreign.steps = foreign_steps(fs, run);
    if (foreign.steps.empty()) return explained(fs, run, report.status());
    report = std::move(foreign);
  } else {
    for (ckpt::ListedStep& step : foreign_steps(fs, report->folder)) {
      const std::string name = ckpt::base_name(step.path);
      if (std::erase(report->foreign, name) > 0) report->steps.push_back(std::move(step));
    }
  }
  std::ranges::stable_sort(report->steps,
                           [](const ckpt::ListedStep& a, const ckpt::ListedStep& b) { return a.step > b.step; });
  return report;
}

}  // namespace titan::convert
