#include "libtrain/job/start/threads.h"

#include <algorithm>

#include "ckpt/base/text.h"
#include "ckpt/plan/lr_settings.h"
#include "libtrain/job/start/prepare.h"
#include "libtrain/job/start/read_errors.h"
#include "recipe/keys/loader.h"

namespace titan::train {

std::optional<int> stored_threads(const ckpt::Settings& environment) {
  constexpr int kMost = 4096;  // as job.threads_per_rank
  const auto count = ckpt::number_of<int>(ckpt::setting(environment, "threads_per_rank"));
  return count && *count >= 1 && *count <= kMost ? count : std::nullopt;
}

int threads_per_rank(const recipe::Config& config, std::optional<int> stored, int local_ranks, CoreShare share) {
  if (config.job.threads_per_rank > 0) return static_cast<int>(config.job.threads_per_rank);
  if (stored) return *stored;
  return std::max(1, share.each ? share.cores : share.cores / std::max(1, local_ranks));
}

int threads_per_rank(const recipe::Config& config, const ckpt::TrainState* state, int local_ranks, CoreShare share) {
  return threads_per_rank(config, state ? stored_threads(state->environment) : std::nullopt, local_ranks, share);
}

std::string unused_thread_variable(const std::optional<std::string>& typed, const recipe::Config& config, bool stored,
                                   int threads) {
  const std::string count = std::to_string(threads);
  if (!typed || *typed == count) return "";
  const char* why = config.job.threads_per_rank > 0 ? "job.threads_per_rank"
                    : stored                        ? "the checkpoint that it continues from"
                                                    : "its part of the cores";
  return "OMP_NUM_THREADS=" + *typed + " is not used: a rank computes with " + count +
         (threads == 1 ? " thread (" : " threads (") + why + "); job.threads_per_rank sets another number";
}

namespace {

Result<StartDecision> find_checkpoint(ckpt::Fs& fs, const StartInputs& inputs) {
  const recipe::Config& config = inputs.loaded.config;
  TITAN_ASSIGN_OR_RETURN(const recipe::Permission permission, recipe::read_permission(config, inputs.allow));
  TITAN_ASSIGN_OR_RETURN(StartRequest request, start_request(inputs, permission));
  request.check_depth = ckpt::CheckDepth::kManifest;
  return decide_alone(fs, config, request, {}, nullptr);
}

}  // namespace

int choose_threads(ckpt::Fs& fs, const StartInputs& inputs, int local_ranks) {
  std::optional<int> stored;
  if (inputs.loaded.config.job.threads_per_rank <= 0) {
    const auto start = find_checkpoint(fs, inputs);
    if (start.ok() && start->mode == StartMode::kResume) {
      const auto state = ckpt::CheckpointReader::known(fs, start->path, *start->manifest).train_state();
      if (state.ok()) stored = stored_threads(state->environment);
    }
  }
  return threads_per_rank(inputs.loaded.config, stored, local_ranks, core_share(local_ranks));
}

}  // namespace titan::train
