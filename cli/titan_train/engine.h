#pragma once
// titan-train-engine is the program that computes with tensors. titan-train executes it (exec) only where tensors are
// needed, since loading LibTorch takes 0.2 s: not for its launcher, a wrong flag, or `plan` without --measure. Both
// programs are built from cli/titan_train. They differ in these functions: titan-train's are in cli/titan_train/front
// and execute the engine, the engine's are in cli/titan_engine and do the work.
#include <string>

#include "cli/kit/verb.h"
#include "libtrain/job/launch/launch_env.h"

namespace titan::recipe {
struct Config;
struct RunPlan;
}  // namespace titan::recipe

namespace titan::cli {

/// Environment variables that titan-train sets for the engine. kFront: titan-train's version line (version_line()).
/// kStopsHeld: set if stop signals are blocked during the exec, so that none is lost; the engine unblocks them.
inline constexpr const char *kFront = "TITAN_FRONT", *kStopsHeld = "TITAN_STOPS_HELD";

/// The path of titan-train-engine. \error kInvalid: the engine is not installed next to titan-train
ckpt::Result<std::string> engine_program();

/// Checks that titan-train and this engine are of the same build. \error kInvalid
ckpt::Status check_front();

/// The verbs `eval` and `sample`.
ckpt::Result<Answer> run_eval(const Request& request);
ckpt::Result<Answer> run_sample(const Request& request);

/// Runs one rank in this process. In titan-train, returns only if the engine cannot be executed.
ckpt::Result<Answer> be_rank(const Request& request, const train::LaunchEnv& env);

/// `plan --measure`: measures the compute times of the model's parts on this host with `threads` threads, and stores
/// them in the run folder.
ckpt::Status measure_costs(const Request& request, const recipe::Config& config, const recipe::RunPlan& plan,
                           int threads);

std::string torch_version();  ///< the LibTorch version that both programs were built with: "2.11.0"

}  // namespace titan::cli
