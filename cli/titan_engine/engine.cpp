// titan-train-engine's versions of the functions of cli/titan_train/engine.h. Those of titan-train are in
// cli/titan_train/front.
#include <cstdlib>

#include "cli/kit/version.h"
#include "cli/titan_train/engine.h"
#include "libtrain/engine/train/measure_parts.h"
#include "libtrain/job/host/measured_costs.h"

namespace titan::cli {

ckpt::Result<std::string> engine_program() { return std::string("/proc/self/exe"); }

ckpt::Status check_front() {
  const char* const front = std::getenv(kFront);
  const std::string own = version_line("titan-train");
  if (front == nullptr || front == own) return ckpt::ok_status();
  return ckpt::invalid("titan-train and titan-train-engine are of two builds: " + std::string(front) + ", and " + own)
      .with_hint("install both programs of one build");
}

ckpt::Status measure_costs(const Request& request, const recipe::Config& config, const recipe::RunPlan& plan,
                           int threads) {
  return train::store_measured_costs(request.fs, config, train::measure_parts(plan, threads));
}

}  // namespace titan::cli
