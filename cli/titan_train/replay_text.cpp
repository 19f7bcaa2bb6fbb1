#include "ckpt/base/printed.h"
#include "cli/titan_train/replay.h"

#include <algorithm>

#include "cli/kit/json_out.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"

namespace titan::cli {
namespace {

using recipe::RecordDifference;

constexpr std::size_t kShownDifferences = 10, kShownTensors = 5;

std::string ranks_text(const train::ReplayPlan& plan) {
  const std::uint32_t nproc = plan.segments.front().nproc;
  return ckpt::counted(nproc, "rank");
}

/// The names of the tensors that differ, in the order of `titan-ckpt diff`.
std::vector<std::string> tensors_of(const ReplayOutcome& outcome) {
  std::vector<std::string> names;
  if (outcome.diff)
    for (const ckpt::Difference& one : outcome.diff->differences)
      if (!one.component.empty()) names.push_back(one.name);
  return names;
}

std::string differences_text(const ReplayOutcome& outcome, const TextStyle& style) {
  const std::vector<RecordDifference>& all = outcome.result.differences;
  Table table({{"step", Align::kRight}, {}, {"published"}, {"computed"}});
  for (std::size_t i = 0; i < std::min(all.size(), kShownDifferences); ++i)
    table.row({std::to_string(all[i].step), all[i].what, all[i].published, all[i].computed});
  std::string out = table.render(style.palette, "  ");
  if (all.size() > kShownDifferences)
    out += "  and " + std::to_string(all.size() - kShownDifferences) + " more; --json has all\n";
  const std::vector<std::string> tensors = tensors_of(outcome);
  if (tensors.empty()) return out;
  out += "  tensors of step " + std::to_string(outcome.diff->a.step) +
         " that differ: " + std::to_string(tensors.size()) + "\n";
  for (std::size_t i = 0; i < std::min(tensors.size(), kShownTensors); ++i) out += "    " + escape(tensors[i]) + "\n";
  return out;
}

/// Says what was found equal: losses, ids, or both. Losses are missing without metrics.jsonl, ids without checkpoints.
std::string proof_text(const ReplayOutcome& outcome) {
  const bool losses = outcome.result.steps > 0, ids = outcome.result.ids > 0;
  if (losses && ids) return "losses and ids are those that were published";
  return ids ? "ids are those that were published; metrics.jsonl has no losses to compare"
             : "losses are those that were published; no id is left to compare";
}

void outcome_json(JsonOut& json, const ReplayOutcome& outcome) {
  const train::ReplayPlan& plan = outcome.plan;
  json.members("from", plan.range.from, "to", plan.range.to, "nproc", plan.segments.front().nproc, "follows",
               outcome.follows(), "steps_compared", outcome.result.steps, "ids_compared", outcome.result.ids);
  json.each("differences", outcome.result.differences, [&](const RecordDifference& one) {
    json.members("step", one.step, "what", one.what, "published", one.published, "computed", one.computed);
  });
  json.members("tensors", tensors_of(outcome), "notes", outcome.notes);
}

}  // namespace

std::string replay_text(const ReplayOutcome& outcome, const TextStyle& style) {
  const train::ReplayPlan& plan = outcome.plan;
  std::string out = "steps " + std::to_string(plan.range.from + 1) + " to " + std::to_string(plan.range.to) + " of " +
                    escape(plan.range.run) + ", computed again on " + ranks_text(plan) + ": " +
                    std::to_string(outcome.result.steps) + " steps and " + ckpt::counted(outcome.result.ids, "id") +
                    " compared\n";
  if (outcome.follows())
    return out + style.palette.paint(Role::kOk, "they follow from each other") + ": " + proof_text(outcome) + "\n";
  out += differences_text(outcome, style);
  return out +
         style.palette.paint(Role::kError,
                             "step " + std::to_string(outcome.result.differences.front().step) + " does not follow") +
         " from the steps before it\n";
}

std::string replay_json(const ReplayOutcome& outcome) {
  JsonOut json("titan.replay/1");
  json.path("run", outcome.plan.range.run);
  outcome_json(json, outcome);
  return json.document();
}

namespace {

/// The first full step that was not reproduced, and the one before it.
std::pair<std::uint64_t, std::uint64_t> broken_pair(const BisectOutcome& outcome) {
  const std::uint64_t first = outcome.replays.back().result.differences.front().step;
  const auto step = std::lower_bound(outcome.steps.begin(), outcome.steps.end(), first);
  return {*(step - 1), step == outcome.steps.end() ? first : *step};
}

}  // namespace

std::vector<std::string> BisectOutcome::notes() const {
  std::vector<std::string> all = passed_over;
  for (const ReplayOutcome& replay : replays)
    for (const std::string& note : replay.notes)
      if (std::find(all.begin(), all.end(), note) == all.end()) all.push_back(note);
  return all;
}

std::string bisect_text(const BisectOutcome& outcome, const TextStyle& style) {
  std::string out;
  for (const ReplayOutcome& replay : outcome.replays)
    out += "steps " + std::to_string(replay.plan.range.from + 1) + " to " + std::to_string(replay.plan.range.to) +
           "  " +
           (replay.follows() ? style.palette.paint(Role::kOk, "follow") : style.palette.paint(Role::kError, "differ")) +
           "\n";
  if (outcome.follows())
    return out + "every step of " + escape(outcome.run) + " from " + std::to_string(outcome.steps.front()) + " to " +
           std::to_string(outcome.proved) + " follows from the first\n";
  const auto [before, broken] = broken_pair(outcome);
  return out + differences_text(outcome.replays.back(), style) +
         style.palette.paint(Role::kError, "step " + std::to_string(broken) + " does not follow") + " from step " +
         std::to_string(before) + "; all steps before that do\n";
}

std::string bisect_json(const BisectOutcome& outcome) {
  JsonOut json("titan.bisect/1");
  json.path("run", outcome.run);
  json.members("steps", outcome.steps, "follows", outcome.follows(), "proved", outcome.proved);
  if (outcome.follows()) {
    json.null("broken");
  } else {
    const auto [before, broken] = broken_pair(outcome);
    json.object("broken", "step", broken, "before", before);
  }
  json.each("replays", outcome.replays, [&](const ReplayOutcome& replay) { outcome_json(json, replay); });
  return json.document();
}

}  // namespace titan::cli
