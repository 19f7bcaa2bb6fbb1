// titan-train's versions of the functions of engine.h: they execute titan-train-engine, which is installed next to it.
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "cli/kit/version.h"
#include "cli/titan_train/engine.h"
#include "libtrain/job/host/program_folder.h"
#include "libtrain/job/launch/c_list.h"
#include "libtrain/job/launch/signals.h"

namespace titan::cli {
namespace {

constexpr const char* kEngine = "titan-train-engine";

/// Replaces this program by the engine (exec). \error kInvalid: it is missing; kFailed: it cannot be executed
ckpt::Status become_engine(const Command& command) {
  TITAN_ASSIGN_OR_RETURN(const std::string program, engine_program());
  std::vector<std::string> words = command.words;
  const std::vector<char*> argv = train::c_list(words);
  // Stop signals are blocked until the engine unblocks them. One that was recorded earlier is raised again.
  train::hold_stop_signals();
  if (train::stop_requested()) std::raise(train::stop_signal());
  setenv(kStopsHeld, "1", 1);
  execv(program.c_str(), argv.data());
  const int error = errno;
  train::release_stop_signals();
  return ckpt::failed(program + " cannot be executed: " + std::strerror(error));
}

}  // namespace

ckpt::Result<std::string> engine_program() {
  const std::string path = train::path_beside_program(kEngine, "libexec");
  if (::access(path.c_str(), X_OK) != 0)
    return ckpt::invalid(std::string(kEngine) + " is not there, which computes for titan-train: " + path)
        .with_hint("install it together with titan-train (cmake --install), or build the target " +
                   std::string(kEngine));
  setenv(kFront, version_line("titan-train").c_str(), 1);
  return path;
}

ckpt::Status check_front() { return ckpt::ok_status(); }

ckpt::Result<Answer> run_eval(const Request& request) { return become_engine(request.command); }

ckpt::Result<Answer> run_sample(const Request& request) { return become_engine(request.command); }

ckpt::Result<Answer> be_rank(const Request& request, const train::LaunchEnv&) { return become_engine(request.command); }

ckpt::Status measure_costs(const Request& request, const recipe::Config&, const recipe::RunPlan&, int) {
  return become_engine(request.command);
}

}  // namespace titan::cli
