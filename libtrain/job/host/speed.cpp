#include "libtrain/job/host/speed.h"

#include <algorithm>

#include "ckpt/base/path.h"
#include "recipe/history/run_metrics.h"
#include "recipe/keys/loader.h"
#include "recipe/plan/run_config.h"
#include "recipe/plan/run_plan.h"

namespace titan::train {
namespace {

/// In a few words, how the newest start's computation differed from `plan`; empty if it did not.
std::string difference(const std::string& run_dir, const SpeedReader& metrics, const recipe::RunPlan& plan,
                       int threads) {
  const std::string mesh = std::to_string(metrics.dp()) + "x" + std::to_string(metrics.pp());
  if (metrics.dp() != plan.mesh.dp || metrics.pp() != plan.mesh.pp) return "ran on " + mesh;
  const auto loaded = recipe::load_run_config(ckpt::join_path(run_dir, "config.toml"), {});
  if (!loaded.ok()) return "left a config.toml that cannot be read";
  const auto earlier = recipe::make_run_plan(loaded->config, plan.mesh.world());
  if (!earlier.ok() || earlier->dims != plan.dims || earlier->bf16 != plan.bf16) return "trained another model";
  if (!(earlier->batch == plan.batch) || earlier->schedule != plan.schedule) return "had another batch or schedule";
  if (earlier->recompute_each != plan.recompute_each) return "recomputed other layers";
  // The config.toml of a started run names its GEMM library.
  const std::string& gemm = loaded->config.training.cpu_gemm;
  if (gemm != "auto" && gemm != recipe::gemm_name(plan.gemm)) return "had its products by " + gemm;
  if (earlier->loss_chunk != plan.loss_chunk) return "had another training.loss_chunk";
  const std::int64_t before = loaded->config.job.threads_per_rank;
  if (before > 0 && threads > 0 && before != threads)
    return "had " + std::to_string(before) + (before == 1 ? " thread a rank" : " threads a rank");
  return "";
}

}  // namespace

void SpeedReader::take(const recipe::MetricsLine& line) {
  if (line.is_start()) {
    attempt_ = line.attempt;
    const auto ranks = [](double count) { return count > 0 && count < 1e9 ? static_cast<std::uint64_t>(count) : 0; };
    dp_ = ranks(line.dp.value_or(0));
    pp_ = ranks(line.pp.value_or(0));
    seen_ = 0;
    recent_.clear();
    stall_.reset();
  } else if (line.is_step() && line.attempt == attempt_ && line.time_s.value_or(0) > 0 &&
             seen_++ > 0) {  // the first step of an attempt warms up
    if (recent_.size() == kSteps) recent_.erase(recent_.begin());
    recent_.push_back(*line.time_s);
  } else if (line.event == "save_commit" && line.attempt == attempt_ && line.stall_s) {
    stall_ = stall_ ? (*stall_ + *line.stall_s) / 2 : *line.stall_s;  // as SaveSchedule
  }
}

double SpeedReader::median() const {
  if (recent_.empty()) return 0;
  std::vector<double> sorted = recent_;
  std::ranges::sort(sorted);
  return sorted[sorted.size() / 2];
}

SpeedGuess guess_speed(ckpt::Fs& fs, const std::string& run_dir, const recipe::RunPlan& plan, int threads) {
  SpeedGuess guess;
  SpeedReader metrics;
  const auto read = recipe::read_metrics(fs, ckpt::join_path(run_dir, "metrics.jsonl"),
                                         [&](const recipe::MetricsLine& line) { metrics.take(line); });
  if (!read.ok() || metrics.attempt() == 0) return guess;
  guess.attempt = metrics.attempt();
  if (const std::string other = difference(run_dir, metrics, plan, threads); !other.empty()) {
    guess.why_none = "attempt " + std::to_string(guess.attempt) + " " + other;
  } else if (metrics.steps() == 0) {
    guess.why_none = "attempt " + std::to_string(guess.attempt) + " has no step after its first";
  } else {
    guess.steps = metrics.steps();
    guess.seconds_per_step = metrics.median();
    guess.stall_s = metrics.stall();
  }
  return guess;
}

}  // namespace titan::train
