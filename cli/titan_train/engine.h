#pragma once
// What computes with tensors: the program titan-train-engine. titan-train executes it in its own place, so that a
// launcher, a plan or a wrong flag does not load LibTorch, which takes a fifth of a second. Both programs are made of
// cli/titan_train; these functions are in cli/titan_train/front (titan-train) and in cli/titan_engine.
#include <string>

#include "cli/kit/verb.h"
#include "libtrain/job/launch/launch_env.h"

namespace titan::recipe {
struct Config;
struct RunPlan;
}  // namespace titan::recipe

namespace titan::cli {

/// Variables of the environment of an engine: the version line of the titan-train that executed it; stop signals are
/// blocked, for those that came shall not be lost.
inline constexpr const char *kFront = "TITAN_FRONT", *kStopsHeld = "TITAN_STOPS_HELD";

/// What ranks execute. \error kInvalid: titan-train-engine is not where it belongs
ckpt::Result<std::string> engine_program();

/// Whether the program that executed this one belongs to another build. \error kInvalid
ckpt::Status check_front();

/// The verbs `eval` and `sample`.
Answer run_eval(const Request& request);
Answer run_sample(const Request& request);

/// The process of one rank. Returns only where there is no engine.
Answer be_rank(const Request& request, const train::LaunchEnv& env);

/// Times the parts of the planned model here, on `threads` threads, and stores the times beside the run.
ckpt::Status measure_costs(const Request& request, const recipe::Config& config, const recipe::RunPlan& plan,
                           int threads);

std::string torch_version();  ///< that both programs were built with: "2.11.0"

}  // namespace titan::cli
