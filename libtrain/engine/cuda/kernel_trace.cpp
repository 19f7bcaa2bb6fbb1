#include "libtrain/engine/cuda/kernel_trace.h"

#include <cstdlib>
#include <set>

#include <torch/csrc/autograd/profiler_kineto.h>

#include "libtrain/engine/cuda/gpu_wait.h"

namespace titan::train {
namespace {

constexpr int kTraced = 3;  // the call that ends the trace; earlier steps load kernels and fill caches

}  // namespace

void trace_step_end() {
  static const char* const file = std::getenv("TITAN_GPU_TRACE");
  static int steps = 0;
  if (file == nullptr || ++steps > kTraced) return;
  using torch::profiler::impl::ActivityType;
  using torch::profiler::impl::ProfilerConfig;
  const ProfilerConfig config(torch::profiler::impl::ProfilerState::KINETO);
  const std::set<ActivityType> activities = {ActivityType::CPU, ActivityType::CUDA};
  if (steps == kTraced - 1) {
    wait_for_gpu();
    torch::autograd::profiler::prepareProfiler(config, activities);
    torch::autograd::profiler::enableProfiler(config, activities);
  } else if (steps == kTraced) {
    wait_for_gpu();
    torch::autograd::profiler::disableProfiler()->save(file);
  }
}

}  // namespace titan::train
