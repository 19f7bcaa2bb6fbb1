#pragma once
// titan-train-engine, the program that computes with tensors. titan-train replaces itself by it (exec) only when
// needed, so that a launcher, a plan or a wrong flag does not load LibTorch, which takes a fifth of a second. Both
// programs are built from cli/titan_train; these functions are in cli/titan_train/front (titan-train) and in
// cli/titan_engine.
#include <string>

#include "cli/kit/verb.h"
#include "libtrain/job/launch/launch_env.h"

namespace titan::recipe {
struct Config;
struct RunPlan;
}  // namespace titan::recipe

namespace titan::cli {

/// Environment variables of an engine. kFront: version line of the titan-train that executed it. kStopsHeld: stop
/// signals are blocked, so that none is lost during the exec.
inline constexpr const char *kFront = "TITAN_FRONT", *kStopsHeld = "TITAN_STOPS_HELD";

/// The path of the program that ranks execute. \error kInvalid: titan-train-engine is not in its place
ckpt::Result<std::string> engine_program();

/// Refuses an engine that a program of another build has executed. \error kInvalid
ckpt::Status check_front();

/// The verbs `eval` and `sample`.
ckpt::Result<Answer> run_eval(const Request& request);
ckpt::Result<Answer> run_sample(const Request& request);

/// Becomes the process of one rank. Returns only if there is no engine.
ckpt::Result<Answer> be_rank(const Request& request, const train::LaunchEnv& env);

/// Measures the parts of the planned model on this host, with `threads` threads, and stores the times in the run
/// folder.
ckpt::Status measure_costs(const Request& request, const recipe::Config& config, const recipe::RunPlan& plan,
                           int threads);

std::string torch_version();  ///< the version that both programs were built with: "2.11.0"

}  // namespace titan::cli
