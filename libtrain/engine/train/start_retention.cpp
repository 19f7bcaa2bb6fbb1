#include "libtrain/engine/train/start_retention.h"

#include "libtrain/engine/train/near_steps.h"
#include "libtrain/job/metrics/log.h"
#include "libtrain/job/run/publish_note.h"
#include "recipe/history/run_metrics.h"

namespace titan::train {
namespace {

using ckpt::Status;

// Tells retention the validation losses of earlier starts, by which checkpoint.keep_best chooses steps.
void recall_losses(RunState& run) {
  const std::string path = ckpt::join_path(run.config().job.dump_folder, "metrics.jsonl");
  const auto read = recipe::read_metrics(run.fs, path, [&](const recipe::MetricsLine& line) {
    if (line.event == "validation" && line.validation_loss)
      run.root_objects.retention->validated(line.step, *line.validation_loss);
  });
  if (!read.ok() && read.status().code != ckpt::Code::kNotFound)
    log_warn("checkpoint.keep_best knows no losses of earlier starts: " + read.status().message);
}

}  // namespace

void begin_publishing(RunState& run, bool own) {
  const auto still_ours = [&run] { return run.root_objects.files->still_ours(); };
  run.root_objects.hook = make_publish_hook(run.fs, run.config(), {still_ours, log_warn, log_info});
  if (!run.root_objects.hook || !own) return;
  if (const Status missed = publish_missed(run.fs, run.config(), durable_path(run), *run.root_objects.hook);
      !missed.ok())
    log_warn("checkpoint.on_publish: " + log_text(missed));
}

void start_retention(RunState& run) {
  // Unreadable steps are treated as damaged ones: never deleted, and moved aside when their number is saved again.
  std::set<std::uint64_t> lost = run.lost.damaged;
  lost.insert(run.lost.unreadable.begin(), run.lost.unreadable.end());
  run.engine.checkpointer->mark_damaged(run.checkpoint_dir, lost);
  if (!run.near_folder.empty()) run.engine.checkpointer->mark_damaged(run.near_folder, run.lost.near);
  if (!run.root()) return;
  const auto still_ours = [&run] { return run.root_objects.files->still_ours(); };
  run.engine.checkpointer->guard_commits(still_ours);
  const auto& settings = run.config().checkpoint;
  const ckpt::RetentionRules rules{static_cast<std::uint64_t>(settings.keep_latest_k),
                                   static_cast<std::uint64_t>(settings.keep_every),
                                   static_cast<std::uint64_t>(settings.keep_best)};
  run.root_objects.retention = std::make_unique<ckpt::Retention>(
      run.fs, ckpt::RetentionOptions{
                  run.checkpoint_dir, rules, still_ours,
                  [](const std::string& name, const std::string& kept) {
                    log_info("retention removed " + name + (kept.empty() ? "" : "; " + ckpt::kept_text(kept)));
                  },
                  [](const std::string& problem) { log_warn("retention: " + problem); },
                  [&run](std::uint64_t step) { return run.root_objects.hook && run.root_objects.hook->in_use(step); }});
  for (const std::uint64_t step : lost) run.root_objects.retention->judge(step, ckpt::Verdict::kDamaged);
  // If weights and optimizer state were loaded, all their digests have been checked.
  const StartDecision& decision = run.start.decision;
  const bool own = run.start.source != nullptr && decision.origin.empty() && decision.durable;
  if (own && !decision.near && !run.start.continuation.fresh_optimizer)
    run.root_objects.retention->judge(run.start.decision.step, ckpt::Verdict::kProved, run.start.id);
  if (rules.keep_best > 0) recall_losses(run);
  begin_publishing(run, own);
  begin_copies(run, lost);
}

}  // namespace titan::train
