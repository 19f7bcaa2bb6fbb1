#include "ckpt/run/run_resolve.h"

#include <fnmatch.h>

#include <algorithm>
#include <functional>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "ckpt/format/member_names.h"
#include "ckpt/run/run_check.h"

namespace titan::ckpt {
namespace {

std::string describe(const std::vector<StepEntry>& steps) {
  constexpr std::size_t kShown = 10;
  if (steps.empty()) return "it holds no steps";
  std::string text = "it holds steps ";
  for (std::size_t i = 0; i < std::min(steps.size(), kShown); ++i)
    text += (i ? ", " : "") + std::to_string(steps[i].step);
  if (steps.size() > kShown) text += " and " + std::to_string(steps.size() - kShown) + " older ones";
  return text;
}

std::optional<std::uint64_t> parse_step(const std::string& text) {
  const std::optional<std::uint64_t> step = number_of<std::uint64_t>(text);
  return step ? step : parse_step_name(text);
}

Result<std::string> newest_valid(Fs& fs, const std::string& run, const std::vector<StepEntry>& steps,
                                 const StepCheck& check, std::vector<std::string>* skipped) {
  Status none = not_found(run + " has no valid checkpoint: " + describe(steps));
  for (const StepEntry& step : steps) {
    if (step.linked) TITAN_RETURN_IF_ERROR(follow_step(fs, step.path).status());
    const Result<Manifest> manifest = check(step.path);
    if (manifest.ok()) {
      if (skipped) *skipped = std::move(none.causes);
      return step.path;
    }
    const Status& why = manifest.status();
    // The step may be of a newer format, or only temporarily unreadable. The user may mean this step, so no older one
    // is returned instead.
    if (why.code != Code::kCorrupt && why.code != Code::kNotFound) return why;
    none.causes.push_back(step_name(step.step) + ": " + why.message);
  }
  return none;
}

/// True for a folder, or a link to one.
bool is_folder(Fs& fs, const std::string& path) {
  const Result<std::string> real = fs.real_path(path);
  const Result<FileInfo> info = fs.stat(real.ok() ? *real : path);
  return info.ok() && info->type == FileType::kDirectory;
}

/// \error kNotFound: `run` is a file, or a link that leads nowhere
Status check_is_folder(Fs& fs, const std::string& run) {
  const Result<std::string> real = fs.real_path(run);
  if (real.status().code == Code::kNotFound)
    return not_found(run + " is a link that leads nowhere, expected a run folder");
  TITAN_RETURN_IF_ERROR(real.status());
  const Result<FileInfo> info = fs.stat(*real);
  if (info.ok() && info->type != FileType::kDirectory) return not_found(run + " is a file, expected a run folder");
  return info.status();
}

/// The steps that `text` ("300..400", or a pattern) selects; empty for any other text.
std::function<bool(std::uint64_t)> meant_steps(const std::string& text) {
  if (const std::size_t dots = text.find(".."); dots != std::string::npos) {
    const std::optional<std::uint64_t> first = parse_step(text.substr(0, dots)),
                                       last = parse_step(text.substr(dots + 2));
    if (!first || !last) return {};
    return [=](std::uint64_t step) { return *first <= step && step <= *last; };
  }
  if (text.find_first_of("*?[") == std::string::npos) return {};
  return [text](std::uint64_t step) { return fnmatch(text.c_str(), std::to_string(step).c_str(), 0) == 0; };
}

}  // namespace

Result<std::vector<std::string>> resolve_checkpoints(Fs& fs, const std::string& spec) {
  const std::size_t sign = spec.rfind('@');
  const auto meant = sign == std::string::npos || sign == 0 || fs.stat(spec).ok() ? std::function<bool(std::uint64_t)>()
                                                                                  : meant_steps(spec.substr(sign + 1));
  if (!meant) {
    TITAN_ASSIGN_OR_RETURN(std::string path, resolve_checkpoint(fs, spec));
    return std::vector<std::string>{std::move(path)};
  }
  const std::string run = spec.substr(0, sign);
  TITAN_ASSIGN_OR_RETURN(const std::string dir, resolve_run(fs, run));
  TITAN_ASSIGN_OR_RETURN(const RunScan scan, list_steps(fs, dir));
  std::vector<std::string> paths;
  for (auto step = scan.steps.rbegin(); step != scan.steps.rend(); ++step)
    if (meant(step->step)) paths.push_back(step->path);
  if (paths.empty())
    return not_found(run + " has no step that is '" + spec.substr(sign + 1) + "': " + describe(scan.steps));
  return paths;
}

Result<std::string> resolve_run(Fs& fs, const std::string& run) {
  if (run.empty()) return not_found("an empty name is no run folder");
  const std::string inner = join_path(run, "checkpoint");
  const Result<std::vector<DirEntry>> listed = fs.list(inner);
  if (listed.ok()) return inner;
  if (is_folder(fs, inner)) return listed.status();
  const Result<FileInfo> there = fs.stat(inner);
  if (!there.ok() && there.status().code != Code::kNotFound) return there.status();
  if (listed.status().code == Code::kMediaError) return listed.status();
  if (fs.stat(run).status().code == Code::kNotFound) return not_found(run + ": no such run folder");
  TITAN_RETURN_IF_ERROR(check_is_folder(fs, run));
  TITAN_ASSIGN_OR_RETURN(const RunScan scan, list_steps(fs, run));
  if (!scan.steps.empty()) return run;
  return not_found(run + " is not a run folder: expected a folder 'checkpoint' or steps like " + step_name(100) +
                   " in it");
}

Result<std::string> resolve_checkpoint(Fs& fs, const std::string& spec, const StepCheck& check,
                                       std::vector<std::string>* skipped) {
  if (spec.empty()) return not_found("an empty name is no checkpoint");
  const Result<FileInfo> there = fs.stat(spec);
  if (there.ok()) {
    const Status manifest = fs.stat(join_path(spec, "manifest.json")).status();
    if (manifest.ok()) return spec;
    if (manifest.code != Code::kNotFound) return manifest;
    Result<std::string> dir = resolve_run(fs, spec);
    if (!dir.ok() && dir.status().code != Code::kNotFound && is_folder(fs, spec)) return dir.status();
    if (!dir.ok()) return spec;  // perhaps of another format, whose reader will report the error
    TITAN_ASSIGN_OR_RETURN(const RunScan scan, list_steps(fs, *dir));
    return not_found(spec + " is a run folder, not a checkpoint: " + describe(scan.steps))
        .with_hint("name a step: " + spec + "@latest");
  }
  if (there.status().code != Code::kNotFound) return there.status();

  const std::size_t sign = spec.rfind('@');
  if (sign == std::string::npos || sign == 0)
    return not_found(spec + ": no such checkpoint").with_hint("give a checkpoint folder, RUN@step or RUN@latest");
  const std::string run = spec.substr(0, sign), wanted = spec.substr(sign + 1);
  const std::optional<std::uint64_t> step = parse_step(wanted);
  if (!step && wanted != "latest")
    return not_found(spec + ": no such checkpoint, and '" + wanted + "' is neither a step nor 'latest'");
  TITAN_ASSIGN_OR_RETURN(std::string dir, resolve_run(fs, run));
  TITAN_ASSIGN_OR_RETURN(const RunScan scan, list_steps(fs, dir));
  if (!step) return newest_valid(fs, run, scan.steps, check, skipped);
  const auto found = std::ranges::find(scan.steps, *step, &StepEntry::step);
  if (found == scan.steps.end())
    return not_found(run + " has no step " + std::to_string(*step) + ": " + describe(scan.steps));
  return found->path;
}

Result<std::string> resolve_checkpoint(Fs& fs, const std::string& spec, std::vector<std::string>* skipped) {
  return resolve_checkpoint(
      fs, spec, [&fs](const std::string& path) { return look_at_step(fs, path); }, skipped);
}

}  // namespace titan::ckpt
