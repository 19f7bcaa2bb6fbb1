// The kernels that libtitan_cuda.so brings, computed by the CPU in the order of their stream. NVRTC, which would
// compile them for a GPU, does nothing here: element_kernels_test asks the real one.
#include "tests/support/element_kernels.h"

#include <cuda_runtime_api.h>
#include <nvrtc.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "tests/simulated_gpu/gpus.h"
#include "tests/simulated_gpu/machine.h"

namespace {

using Action = std::function<void()>;
using Launch = std::function<Action(dim3 blocks, dim3 threads, void** arguments)>;

/// Takes the arguments at once: the caller's go when the launch returns. Of some kernels the threads of a block meet.
template <typename... A>
Launch launch_of(void (*kernel)(A...), bool meet) {
  return [kernel, meet](dim3 blocks, dim3 threads, void** arguments) -> Action {
    std::tuple<A...> values;
    std::size_t next = 0;
    std::apply([&](A&... value) { ((value = *static_cast<A*>(arguments[next++])), ...); }, values);
    return [=] {
      const auto call = [&] { std::apply(kernel, values); };
      if (meet)
        titan::test::element::for_each_block(blocks.x, threads.x, call);
      else
        titan::test::element::for_each_thread(blocks.x, blocks.y, threads.x, call);
    };
  };
}

using Own = std::map<std::string, Launch>;

const Own& own() {
#define TITAN_OWN(name) \
  { #name, launch_of(titan::test::element::name, false) }
#define TITAN_OWN_ROWS(name) \
  { #name, launch_of(titan::test::element::name, true) }
#define TITAN_OWN_OF(end)                                                                       \
  TITAN_OWN(swiglu_##end), TITAN_OWN(swiglu_gradients_##end), TITAN_OWN(logit_gradients_##end), \
      TITAN_OWN(add_2_rows_##end), TITAN_OWN(add_4_rows_##end), TITAN_OWN(add_8_rows_##end),    \
      TITAN_OWN_ROWS(norm_##end), TITAN_OWN_ROWS(norm_gradients_##end)
  static const Own& all = *new Own{TITAN_OWN_OF(bf16_4),    TITAN_OWN_OF(bf16_1),    TITAN_OWN_OF(float_4),
                                   TITAN_OWN_OF(float_1),   TITAN_OWN(rope_bf16_4),  TITAN_OWN(rope_bf16_2),
                                   TITAN_OWN(rope_float_4), TITAN_OWN(rope_float_2), TITAN_OWN_ROWS(leaf_squares)};
  return all;
}

/// Without them no kernel computes.
bool computes() {
  static const bool some = std::getenv("TITAN_SIMULATED_GPU_MODULE") != nullptr;
  return some;
}

}  // namespace

const void* titan::gpu::own_kernel(const char* name) {
  const auto found = own().find(name);
  return found == own().end() ? nullptr : &found->second;
}

bool titan::gpu::launch_own(const void* kernel, dim3 blocks, dim3 threads, void** arguments, void* stream) {
  for (const auto& [name, launch] : own()) {
    if (kernel != &launch) continue;
    if (computes())
      Machine::get().give(stream, [action = launch(blocks, threads, arguments)] {
        action();
        return true;
      });
    return true;
  }
  return false;
}

extern "C" {

nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  *count = 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetSupportedArchs(int* known) {
  *known = 90;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCreateProgram(nvrtcProgram*, const char*, const char*, int, const char* const*, const char* const*) {
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram, int, const char* const*) { return NVRTC_SUCCESS; }
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram, std::size_t* size) {
  *size = 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram, char* code) {
  *code = 0;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram*) { return NVRTC_SUCCESS; }

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**, unsigned,
                                cudaLibraryOption*, void**, unsigned) {
  *library = static_cast<cudaLibrary_t>(const_cast<void*>(code));
  return cudaSuccess;
}

}  // extern "C"
