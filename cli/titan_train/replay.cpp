#include "cli/titan_train/replay.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "ckpt/base/exit_code.h"
#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/quoting.h"
#include "ckpt/base/random_id.h"
#include "ckpt/base/text.h"
#include "ckpt/base/toml_text.h"
#include "ckpt/format/member_names.h"
#include "ckpt/ops/run_history.h"
#include "ckpt/plan/lr_settings.h"
#include "ckpt/read/verifier.h"
#include "ckpt/run/run_check.h"
#include "ckpt/run/run_folder.h"
#include "ckpt/run/run_resolve.h"
#include "ckpt/store/parent_folder.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/stop.h"
#include "cli/titan_train/ranks.h"
#include "libtrain/job/replay/child_process.h"

namespace titan::cli {
namespace {

using ckpt::Result;
using ckpt::Status;

/// The folder in which a replay runs. The destructor removes it, unless --dir names it.
class ReplayFolder {
 public:
  static Result<ReplayFolder> make(ckpt::Fs& fs, const train::ReplayRange& range,
                                   const std::optional<std::string>& dir) {
    ReplayFolder folder(fs);
    if (dir) {
      folder.kept_ = true;
      folder.path_ = ckpt::join_path(*dir, "steps-" + std::to_string(range.from) + "-" + std::to_string(range.to));
      TITAN_RETURN_IF_ERROR(ckpt::as_wrong_path(ckpt::make_dirs(fs, *dir), "--dir " + *dir));
    } else {
      TITAN_ASSIGN_OR_RETURN(const std::string real, fs.real_path(range.run));
      folder.path_ = real + ".replay-" + ckpt::random_id();
    }
    const Status made = ckpt::make_own_dir(fs, folder.path_);
    if (made.ok()) return folder;
    folder.kept_ = true;  // the folder existed before, so the destructor must not remove it
    if (fs.stat(folder.path_).ok())
      return ckpt::invalid(folder.path_ + " exists").with_hint("--dir DIR names another place, or remove it");
    return made.wrapped("cannot make the folder of the replay").with_hint("--dir DIR names another place");
  }
  ~ReplayFolder() {
    if (!kept_ && !path_.empty()) (void)ckpt::remove_tree(*fs_, path_);
  }
  ReplayFolder(ReplayFolder&& other) noexcept
      : fs_(other.fs_), path_(std::exchange(other.path_, "")), kept_(other.kept_) {}
  ReplayFolder& operator=(ReplayFolder&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(kept_, other.kept_);
    return *this;
  }
  const std::string& path() const { return path_; }
  bool kept() const { return kept_; }

 private:
  explicit ReplayFolder(ckpt::Fs& fs) : fs_(&fs) {}
  ckpt::Fs* fs_;
  std::string path_;
  bool kept_ = false;
};

/// The last 8 lines of the log at `path`, without lines that contain `gone`, a path that will be removed.
std::vector<std::string> last_lines(ckpt::Fs& fs, const std::string& path, const std::string& gone) {
  constexpr std::uint64_t kMost = std::uint64_t{16} << 20;
  constexpr std::size_t kShown = 8;
  const Result<std::vector<std::byte>> text = ckpt::read_file(fs, path, kMost);
  if (!text.ok()) return {};
  std::vector<std::string> lines;
  for (const std::string& line : ckpt::split(ckpt::text_of(*text), '\n'))
    if (!ckpt::trimmed(line).empty() && (gone.empty() || line.find(gone) == std::string::npos))
      lines.emplace_back(ckpt::trimmed(line));
  if (lines.size() > kShown) lines.erase(lines.begin(), lines.end() - kShown);
  return lines;
}

class Replayer {
 public:
  Replayer(const Request& request, train::ReplayLayout layout) : request_(request), fs_(request.fs), layout_(layout) {
    cancel_ = stop_on_signals();
  }

  Result<ReplayOutcome> replay(const train::ReplayRange& range) {
    ReplayOutcome outcome;
    TITAN_ASSIGN_OR_RETURN(outcome.plan, train::plan_replay(fs_, range, layout_));
    outcome.notes = outcome.plan.published.notes;
    TITAN_ASSIGN_OR_RETURN(const ReplayFolder folder, ReplayFolder::make(fs_, range, request_.command.value("dir")));
    recipe::RunRecord computed;
    for (const train::ReplaySegment& segment : outcome.plan.segments) {
      const std::string place = ckpt::join_path(folder.path(), "from-" + std::to_string(segment.from));
      TITAN_RETURN_IF_ERROR(compute(segment, place, folder.kept()));
      const std::string run = ckpt::join_path(place, "run");
      TITAN_ASSIGN_OR_RETURN(recipe::RunRecord part, recipe::read_record(fs_, run, segment.from + 1, segment.to));
      computed.steps.merge(part.steps);
      computed.ids.merge(part.ids);
      note_environment(run, outcome);
    }
    outcome.result = recipe::compare_records(outcome.plan.published, computed);
    TITAN_RETURN_IF_ERROR(look_closer(folder.path(), outcome));
    return outcome;
  }

  /// The last step from which no replay can start, since its checkpoint is damaged.
  std::optional<std::uint64_t> damaged() const { return damaged_; }

 private:
  /// Computes the steps of a segment: a run in the folder `place` that resumes from a link to the saved checkpoint.
  Status compute(const train::ReplaySegment& segment, const std::string& place, bool kept) {
    const std::string run = ckpt::join_path(place, "run"), steps = ckpt::join_path(run, "checkpoint");
    TITAN_RETURN_IF_ERROR(ckpt::make_dirs(fs_, steps));
    std::error_code failed;
    std::filesystem::create_directory_symlink(segment.checkpoint, ckpt::join_path(steps, ckpt::step_name(segment.from)),
                                              failed);
    if (failed) return ckpt::failed("cannot link " + segment.checkpoint + " into " + steps + ": " + failed.message());
    const std::string config = ckpt::join_path(place, "replay.toml"), log = ckpt::join_path(place, "log");
    const std::string text =
        train::toml_of_rows(ckpt::with_rows(segment.config, {{"job.dump_folder", ckpt::toml_string(run)}}));
    TITAN_RETURN_IF_ERROR(ckpt::write_new_file(fs_, config, std::as_bytes(std::span(text))));
    std::vector<std::string> words{"titan-train", "run",     config, "--nproc", std::to_string(segment.nproc),
                                   "--resume",    "required"};
    for (const std::string& key : segment.allow) words.insert(words.end(), {"--allow", key});
    words.insert(words.end(), request_.command.overrides.begin(), request_.command.overrides.end());
    TITAN_ASSIGN_OR_RETURN(const int code, train::run_and_wait("/proc/self/exe", words, log, cancel_));
    TITAN_RETURN_IF_ERROR(cancel_.check());
    if (code == 0 || ckpt::stopped_early(code)) return ckpt::ok_status();
    TITAN_RETURN_IF_ERROR(check_start(segment));
    Status status = ckpt::failed("the steps from " + std::to_string(segment.from) +
                                 " on cannot be computed: titan-train ended with " + std::to_string(code))
                        .with_hint("--dir DIR keeps the folder of the replay, with the whole log");
    status.causes = last_lines(fs_, log, kept ? "" : place);
    return status;
  }

  /// Why no replay can start from the checkpoint of `segment`. \error kCorrupt naming its first damaged place
  Status check_start(const train::ReplaySegment& segment) {
    const std::string& path = segment.checkpoint;
    const Result<ckpt::VerifyReport> report = ckpt::verify_checkpoint(fs_, path, {}, cancel_);
    if (!report.ok()) return report.status();
    if (report->damage.empty()) return ckpt::ok_status();
    damaged_ = segment.from;
    const ckpt::Damage& first = report->damage.front();
    const std::string place =
        first.tensor.empty() ? first.unit : "leaf " + std::to_string(first.leaf) + " of " + first.tensor;
    return ckpt::corrupt(ckpt::join_path(path, first.file) + ": " + place + ": " + first.detail)
        .wrapped("the steps after it cannot be computed")
        .with_hint("`titan-ckpt verify " + ckpt::shell_word(path) + "` names every damaged place");
  }

  /// Takes over the run's note "not bitwise ..." if this machine has other bits than the run's: a difference then
  /// proves nothing about the run.
  void note_environment(const std::string& run, ReplayOutcome& outcome) {
    const Result<ckpt::RunHistory> history = ckpt::read_history(fs_, run);
    if (!history.ok() || history->attempts.empty()) return;
    for (const std::string& note : history->attempts.back().attempt.notes)
      if (note.starts_with("not bitwise") &&
          std::find(outcome.notes.begin(), outcome.notes.end(), note) == outcome.notes.end())
        outcome.notes.push_back(note);
  }

  /// Compares the tensors of the first step whose id differs, if both checkpoints still exist.
  Status look_closer(const std::string& folder, ReplayOutcome& outcome) {
    const auto& all = outcome.result.differences;
    const auto first = std::find_if(all.begin(), all.end(), [](const auto& one) { return one.what == "id"; });
    if (first == all.end()) return ckpt::ok_status();
    const Result<std::string> published =
        ckpt::resolve_checkpoint(fs_, outcome.plan.range.run + "@" + std::to_string(first->step));
    for (const train::ReplaySegment& segment : outcome.plan.segments) {
      if (first->step <= segment.from || first->step > segment.to || !published.ok()) continue;
      const std::string computed = ckpt::join_path(
          folder, "from-" + std::to_string(segment.from) + "/run/checkpoint/" + ckpt::step_name(first->step));
      if (!ckpt::look_at_step(fs_, computed).ok() || !ckpt::look_at_step(fs_, *published).ok()) continue;
      ckpt::DiffOptions options;
      options.a = *published;
      options.b = computed;
      options.cancel = cancel_;
      TITAN_ASSIGN_OR_RETURN(outcome.diff, ckpt::diff_checkpoints(fs_, options));
    }
    return ckpt::ok_status();
  }

  const Request& request_;
  ckpt::Fs& fs_;
  train::ReplayLayout layout_;
  ckpt::CancelToken cancel_;
  std::optional<std::uint64_t> damaged_;
};

Result<train::ReplayLayout> read_layout(const Command& command) {
  train::ReplayLayout layout;
  if (command.has("nproc")) {
    TITAN_ASSIGN_OR_RETURN(const int nproc, parse_nproc(command));
    layout.nproc = static_cast<std::uint32_t>(nproc);
  }
  if (const auto text = command.value("pp")) {
    const auto pp = ckpt::number_of<std::uint32_t>(*text);
    if (!pp || *pp < 1 || layout.nproc == 0 || layout.nproc % *pp != 0)
      return wrong_value("pp", *text, "a number of stages that divides --nproc");
    layout.pp = *pp;
  }
  return layout;
}

Result<std::vector<std::uint64_t>> full_steps(ckpt::Fs& fs, const std::string& run) {
  TITAN_ASSIGN_OR_RETURN(const std::string folder, ckpt::resolve_run(fs, run));
  TITAN_ASSIGN_OR_RETURN(const ckpt::RunScan scan, ckpt::scan_run(fs, folder));
  std::vector<std::uint64_t> steps;
  for (const ckpt::StepEntry& step : scan.steps)
    if (step.validity.ok() && step.full) steps.push_back(step.step);
  std::reverse(steps.begin(), steps.end());
  if (steps.size() < 2)
    return ckpt::not_found(run + " has " + (steps.empty() ? "no full step" : "one full step alone") +
                           ": none follows from another");
  return steps;
}

}  // namespace

ckpt::Result<Answer> run_replay(const Request& request) {
  TITAN_ASSIGN_OR_RETURN(const train::ReplayRange range, train::parse_replay_range(request.command.positionals[0]));
  TITAN_ASSIGN_OR_RETURN(const train::ReplayLayout layout, read_layout(request.command));
  TITAN_ASSIGN_OR_RETURN(const ReplayOutcome outcome, Replayer(request, layout).replay(range));
  return Answer{.text = request.json ? replay_json(outcome) : replay_text(outcome, request.style),
                .notes = outcome.notes,
                .exit_code = outcome.follows() ? 0 : 1};
}

// A binary search. A replay from step `low` to step `middle` compares every saved step between them. If one differs,
// the first of these is the answer; if none does, all steps up to `middle` are reproduced.
ckpt::Result<Answer> run_bisect(const Request& request) {
  BisectOutcome outcome;
  outcome.run = request.command.positionals[0];
  TITAN_ASSIGN_OR_RETURN(const train::ReplayLayout layout, read_layout(request.command));
  TITAN_ASSIGN_OR_RETURN(outcome.steps, full_steps(request.fs, outcome.run));
  Replayer replayer(request, layout);
  std::size_t low = 0;
  while (low + 1 < outcome.steps.size() && outcome.follows()) {
    const std::size_t middle = low + (outcome.steps.size() - low) / 2;
    Result<ReplayOutcome> replay = replayer.replay({outcome.run, outcome.steps[low], outcome.steps[middle]});
    // If step `low` is damaged, the search leaves it out and replays from an earlier step.
    const bool begins_damaged =
        replay.status().code == ckpt::Code::kCorrupt && replayer.damaged() == outcome.steps[low];
    if (begins_damaged && outcome.steps.size() > 2) {
      outcome.passed_over.push_back("skipped " + ckpt::step_name(outcome.steps[low]) + ": " +
                                    ckpt::one_line(replay.status()));
      outcome.steps.erase(outcome.steps.begin() + static_cast<std::ptrdiff_t>(low));
      low -= std::min<std::size_t>(low, 1);
      continue;
    }
    if (!replay.ok()) return replay.status();
    outcome.replays.push_back(std::move(*replay));
    if (outcome.follows()) low = middle;
  }
  outcome.proved = outcome.steps[low];
  return Answer{.text = request.json ? bisect_json(outcome) : bisect_text(outcome, request.style),
                .notes = outcome.notes(),
                .exit_code = outcome.follows() ? 0 : 1};
}

}  // namespace titan::cli
