#include "libtrain/job/replay/replay_plan.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "ckpt/base/fs.h"
#include "ckpt/base/quoting.h"
#include "ckpt/base/text.h"
#include "ckpt/ops/run_history.h"
#include "ckpt/plan/lr_settings.h"
#include "ckpt/run/run_check.h"
#include "ckpt/run/run_resolve.h"
#include "recipe/keys/key_table.h"

namespace titan::train {
namespace {

using ckpt::Result;
using ckpt::Settings;

constexpr std::uint64_t kNever = 1'000'000'000;  // an interval that no replay reaches

/// A full step of the run, with its complete manifest.
const ckpt::StepEntry* full_step(const ckpt::RunScan& scan, std::uint64_t step) {
  for (const ckpt::StepEntry& entry : scan.steps)
    if (entry.step == step && entry.validity.ok() && entry.full) return &entry;
  return nullptr;
}

Result<const ckpt::StepEntry*> start_at(const ckpt::RunScan& scan, const ReplayRange& range, std::uint64_t step,
                                        const std::string& why) {
  if (const ckpt::StepEntry* entry = full_step(scan, step)) return entry;
  for (const ckpt::StepEntry& entry : scan.steps)
    if (entry.step == step && !entry.validity.ok()) return entry.validity;
  return ckpt::not_found(range.run + " has no full step " + std::to_string(step) + ", from which " + why)
      .with_hint("`titan-ckpt ls " + ckpt::shell_word(range.run) + "` shows the steps there are");
}

/// The oldest valid step after `from`: its configuration computed the steps in between.
Result<const ckpt::StepEntry*> configured_by(const ckpt::RunScan& scan, const ReplayRange& range, std::uint64_t from) {
  const ckpt::StepEntry* oldest = nullptr;
  for (const ckpt::StepEntry& entry : scan.steps)
    if (entry.step > from && entry.validity.ok()) oldest = &entry;
  if (oldest != nullptr) return oldest;
  return ckpt::not_found(range.run + " has no valid step after step " + std::to_string(from) +
                         ", whose configuration computed the steps between");
}

/// A save interval that saves at each recorded step, and at few others.
std::uint64_t interval_of(const recipe::RunRecord& published, std::uint64_t from, std::uint64_t to) {
  std::uint64_t interval = 0;
  for (const auto& [step, id] : published.ids)
    if (step > from && step < to) interval = std::gcd(interval, step);
  return interval == 0 ? kNever : interval;
}

/// The rows of a stored configuration, for a start that computes again and keeps every step that it saves.
Settings replay_rows(const Settings& stored, const ReplayLayout& layout, std::uint64_t interval, std::uint64_t to) {
  Settings rows;
  for (const auto& row : stored) {
    const recipe::Key* key = recipe::find_key(row.first);
    const bool loads = row.first.starts_with("checkpoint.initial_load") || row.first == "checkpoint.load_step";
    const bool placed = layout.nproc > 0 && key != nullptr && key->cls == recipe::KeyClass::kLayout;
    const bool own = row.first == "checkpoint.folder" || row.first == "checkpoint.keep_best" ||
                     row.first == "checkpoint.near" ||
                     row.first == "metrics.status_file";  // these belong to the run that is replayed
    if (!loads && !placed && !own) rows.push_back(row);
  }
  Settings ours{{"checkpoint.enable", "true"},
                {"checkpoint.interval", std::to_string(interval)},
                {"checkpoint.keep_every", "0"},
                {"checkpoint.keep_latest_k", "0"},
                {"checkpoint.last_save_model_only", "false"},
                {"debug.stop_at_step", std::to_string(to)},
                {"metrics.enable_tensorboard", "false"},
                {"profiling.enable_profiling", "false"},
                {"validation.freq", std::to_string(kNever)}};
  if (layout.nproc > 0) ours.emplace_back("parallelism.pipeline_parallel_degree", std::to_string(layout.pp));
  // A later start was given more steps, which the LR settings allowed: the LR schedule stays that of the fewer steps.
  const std::string steps = ckpt::setting(stored, "training.steps");
  if (const auto known = ckpt::number_of<std::uint64_t>(steps); known && *known < to) {
    ours.emplace_back("training.steps", std::to_string(to));
    if (ckpt::setting(stored, "lr_scheduler.total_steps") == ckpt::kNotSet)
      ours.emplace_back("lr_scheduler.total_steps", steps);
  }
  return ckpt::with_rows(std::move(rows), ours);
}

/// The ends of segments: steps after which a start changed a setting that shapes the loss curve.
std::vector<std::uint64_t> cuts_of(const ckpt::RunHistory& history, const ReplayRange& range) {
  std::set<std::uint64_t> cuts{range.from, range.to};
  for (const ckpt::HistoryEntry& entry : history.attempts) {
    const std::uint64_t before = entry.attempt.first_step - 1;
    const bool changes = !entry.attempt.changed.empty() || !entry.attempt.policy.empty();
    if (changes && before > range.from && before < range.to) cuts.insert(before);
  }
  return {cuts.begin(), cuts.end()};
}

/// The keys that the start after `from` was allowed to change. A stored configuration also has settings that follow
/// from these, so a replay must be allowed to change those, too.
std::vector<std::string> allowed_after(const ckpt::RunHistory& history, std::uint64_t from) {
  std::set<std::string> keys;
  for (const ckpt::HistoryEntry& entry : history.attempts) {
    for (const ckpt::KeyChange& change : entry.changes) {
      const recipe::Key* key = recipe::find_key(change.key);
      if (entry.attempt.first_step != from + 1 || !change.allowed || key == nullptr) continue;
      keys.insert(key->name);
      for (const std::string& opened : key->opens)
        if (!recipe::find_key(opened)->unset_follows.empty()) keys.insert(opened);
    }
  }
  return {keys.begin(), keys.end()};
}

}  // namespace

Result<ReplayRange> parse_replay_range(const std::string& text) {
  const std::size_t sign = text.rfind('@');
  const std::size_t dots = sign == std::string::npos ? sign : text.find("..", sign);
  if (sign != std::string::npos && sign > 0 && dots != std::string::npos) {
    const auto from = ckpt::number_of<std::uint64_t>(text.substr(sign + 1, dots - sign - 1));
    const auto to = ckpt::number_of<std::uint64_t>(text.substr(dots + 2));
    if (from && to && *from < *to) return ReplayRange{text.substr(0, sign), *from, *to};
  }
  return ckpt::invalid("'" + text + "': expected RUN@A..B, the steps after the checkpoint at A, up to step B");
}

Result<ReplayPlan> plan_replay(ckpt::Fs& fs, const ReplayRange& range, const ReplayLayout& layout) {
  ReplayPlan plan;
  plan.range = range;
  TITAN_ASSIGN_OR_RETURN(const std::string folder, ckpt::resolve_run(fs, range.run));
  TITAN_ASSIGN_OR_RETURN(const ckpt::RunScan scan, ckpt::scan_run(fs, folder));
  TITAN_ASSIGN_OR_RETURN(const ckpt::RunHistory history, ckpt::read_history(fs, range.run));
  TITAN_ASSIGN_OR_RETURN(plan.published, recipe::read_record(fs, range.run, range.from + 1, range.to));
  if (plan.published.steps.empty() && plan.published.ids.empty())
    return ckpt::not_found(range.run + " has published nothing of steps " + std::to_string(range.from + 1) + " to " +
                           std::to_string(range.to) + ": there is nothing to compare with");
  const std::uint64_t last = std::max(plan.published.steps.empty() ? 0 : plan.published.steps.rbegin()->first,
                                      plan.published.ids.empty() ? 0 : plan.published.ids.rbegin()->first);
  if (last < range.to)
    return ckpt::not_found(range.run + " has published nothing after step " + std::to_string(last) + ": steps to " +
                           std::to_string(range.to) + " cannot be compared");
  const std::vector<std::uint64_t> cuts = cuts_of(history, range);
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    ReplaySegment segment{cuts[i], cuts[i + 1]};
    const std::string why = i == 0 ? "the replay would begin" : "a start with other settings continued";
    TITAN_ASSIGN_OR_RETURN(const ckpt::StepEntry* const start, start_at(scan, range, segment.from, why));
    TITAN_ASSIGN_OR_RETURN(const ckpt::StepEntry* const next, configured_by(scan, range, segment.from));
    TITAN_ASSIGN_OR_RETURN(segment.checkpoint, fs.real_path(start->path));
    const ckpt::Manifest& manifest = *next->manifest;
    segment.nproc = layout.nproc > 0 ? layout.nproc : manifest.mesh.world();
    segment.config =
        replay_rows(manifest.config, layout, interval_of(plan.published, segment.from, segment.to), segment.to);
    segment.allow = allowed_after(history, segment.from);
    plan.segments.push_back(std::move(segment));
  }
  return plan;
}

std::string toml_of_rows(const Settings& rows) {
  std::string text, section;
  for (const auto& [key, value] : rows) {
    const std::size_t dot = key.rfind('.');
    if (dot == std::string::npos) continue;
    if (key.substr(0, dot) != section) {
      section = key.substr(0, dot);
      text += "[" + section + "]\n";
    }
    text += key.substr(dot + 1) + " = " + value + "\n";
  }
  return text;
}

}  // namespace titan::train
