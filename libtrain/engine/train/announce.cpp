#include "libtrain/engine/train/announce.h"

#include <sstream>

#include "ckpt/base/path.h"
#include "ckpt/model/history.h"
#include "ckpt/model/settings.h"
#include "ckpt/plan/lr_settings.h"
#include "ckpt/plan/mixture.h"
#include "ckpt/plan/same_files.h"
#include "libtrain/engine/device/device.h"
#include "libtrain/engine/model/runtime.h"
#include "libtrain/job/host/cores.h"
#include "libtrain/job/host/gemm.h"
#include "libtrain/job/metrics/json_text.h"
#include "libtrain/job/metrics/log.h"
#include "libtrain/job/run/banner.h"
#include "recipe/change/change_lines.h"
#include "recipe/change/drift.h"
#include "recipe/keys/writer.h"

namespace titan::train {
namespace {

// The environment on which bits depend. On a GPU the host matters only by its LibTorch.
ckpt::Settings runtime_environment(int threads, recipe::CpuGemm gemm) {
  if (!device().place().is_cpu()) return ckpt::with_rows({{"torch", torch_version()}}, device().environment());
  ckpt::Settings rows = {{"blas", blas_name()},
                         {"device", "cpu"},
                         {"isa", cpu_isa()},
                         {"threads_per_rank", std::to_string(threads)},
                         {"torch", torch_version()}};
  return ckpt::with_rows(ckpt::with_rows(rows, gemm_rows(gemm)), device().environment());
}

}  // namespace

void begin_attempt(RunState& run) {
  ckpt::Settings environment = runtime_environment(run.options.threads, run.plan().gemm);
  ckpt::Attempt attempt;
  attempt.number = run.state.attempts.empty() ? 1 : run.state.attempts.back().number + 1;
  attempt.started = utc_now();
  attempt.first_step = run.start.decision.step + 1;
  attempt.last_step = run.start.decision.step;
  attempt.dp = run.plan().mesh.dp;
  attempt.pp = run.plan().mesh.pp;
  attempt.schedule = run.plan().schedule_name();
  attempt.version = run.options.version;
  attempt.environment = class_line(run.plan(), environment);
  attempt.policy = run.start.continuation.policy ? ckpt::policy_name(*run.start.continuation.policy) : "";
  attempt.changed = run.start.continuation.changed;
  for (const std::string& note : {run.start.continuation.same_data, run.start.continuation.other_sets})
    if (!note.empty()) attempt.notes.push_back(note);
  if (run.start.source != nullptr) {
    const std::string difference = recipe::environment_difference(run.state.environment, environment);
    if (!difference.empty()) {
      attempt.notes.push_back("not bitwise: " + difference);
      if (run.root()) log_warn("not bitwise: " + difference);
    } else if (run.root() && run.start.continuation.changes.empty() && run.start.continuation.changed.empty()) {
      log_info("same machine class and settings: continues bit for bit");
    }
  }
  run.state.environment = std::move(environment);
  ckpt::add_attempt(run.state.attempts, std::move(attempt));
}

void announce(RunState& run) {
  if (!run.root()) return;
  for (const std::string& warning : run.plan().warnings) log_warn(warning);
  for (const std::string& warning : run.start.dataset->warnings()) log_warn(warning);
  const LaunchEnv& env = run.options.env;
  if (env.source != "titan")  // Titan's launcher has already given this warning
    if (const std::string line = too_many_threads(env.local_world, run.options.threads, core_share(env.local_world));
        !line.empty())
      log_warn(line);
  for (const recipe::Change& change : run.start.continuation.changes)
    log_warn("changed: " + recipe::change_line(change));
  if (const ckpt::LrPreview* chosen = run.start.continuation.chosen())
    log_warn("LR policy " + recipe::preview_line(*chosen));  // the next line logs its warnings
  for (const std::string& warning : run.start.continuation.warnings) log_warn(warning);
  if (!run.start.continuation.same_data.empty()) log_info(run.start.continuation.same_data);
  if (const std::string line = recipe::model_source_line(run.start.loaded); !line.empty()) log_info("model: " + line);
  if (run.start.source) {
    const std::string line = recipe::no_longer_given(run.options.loaded, run.start.loaded,
                                                     run.start.source->manifest().config, run.start.stored->state);
    if (!line.empty()) log_warn("model: " + line);
  }
  if (run.start.weight_source)
    for (const std::string& line :
         match_lines(run.start.match, run.start.weight_source->tensors(), run.plan().parameters))
      log_info(line);
  if (run.model_files) log_info(model_files_line(*run.model_files));
  BannerFacts facts;
  if (run.start.source)
    facts.start = "resume at step " + std::to_string(run.start.decision.step) + " from " + run.start.decision.path +
                  ": " + run.start.decision.reason;
  if (run.start.weight_source) facts.start = run.start.decision.reason;
  facts.run_dir = run.config().job.dump_folder;
  facts.first_step = run.start.decision.step + 1;
  facts.last_step = static_cast<std::uint64_t>(run.config().training.steps);
  facts.environment = run.state.environment;
  facts.data =
      run.progress.data.kind + ", " + std::to_string(run.progress.data.files.size()) +
      (run.progress.data.files.size() == 1 ? " file (" : " files (") + ckpt::file_names(run.progress.data.files) +
      "), " +
      (run.start.texts.empty() ? ""
                               : "as tokens of " + run.start.texts[0].path + " in " +
                                     (run.progress.data.sets.empty() ? run.start.texts[0].folder
                                                                     : ckpt::parent_path(run.start.texts[0].folder)) +
                                     ", ") +
      std::to_string(run.progress.data.samples_per_epoch) + " samples per epoch" +
      (run.progress.data.sets.empty() ? "" : " of " + ckpt::mixture_text(run.progress.data.sets)) + ", " +
      std::to_string(run.start.dataset->validation_samples()) + " held back; at sample " +
      std::to_string(run.progress.data.samples);
  facts.left_out = run.start.dataset->left_out();
  facts.seed = run.state.seed;
  for (const std::string& line : banner_lines(run.plan(), facts)) log_info(line);
  if (run.config().job.print_config) {
    log_info("configuration:");
    std::istringstream lines(recipe::config_toml(run.resolved));
    for (std::string line; std::getline(lines, line);) log_info(line);
  }
}

}  // namespace titan::train
