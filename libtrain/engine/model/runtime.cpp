#include "libtrain/engine/model/runtime.h"

#include <fstream>
#include <mutex>
#include <regex>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/headeronly/version.h>

namespace titan::train {
namespace {

std::string first_match(const std::string& text, const char* pattern) {
  std::smatch match;
  return std::regex_search(text, match, std::regex(pattern)) ? match[1].str() : "";
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) return first_match(line, R"(:\s*(.*\S))");
  return "unknown CPU";
}

}  // namespace

void setup_determinism(int threads) {
  static std::once_flag once;
  std::call_once(once, [] {
    at::set_num_interop_threads(1);  // throws when called twice
    auto& context = at::globalContext();
    context.setDeterministicAlgorithms(true, /*warn_only=*/false);
    context.setDeterministicMkldnn(true);
    // Deterministic algorithms would otherwise fill each at::empty() with NaN. That costs time, and no kernel here
    // reads elements before they are written.
    context.setDeterministicFillUninitializedMemory(false);
    // If the flash kernel cannot compute an attention, that must be an error, not a silent change of kernel and bits.
    context.setSDPUseMath(false);
  });
  at::set_num_threads(threads);
}

void setup_thread() { at::init_num_threads(); }

std::string torch_version() { return TORCH_VERSION; }

std::string blas_name() {
  const std::string mkl = first_match(at::get_mkl_version(), R"(Version\s+([0-9.]+))");
  const std::string onednn = first_match(at::get_mkldnn_version(), R"(v([0-9.]+))");
  std::string name = mkl.empty() ? first_match(at::show_config(), R"(BLAS_INFO=(\w+))") : "MKL " + mkl;
  if (name.empty()) name = "unknown BLAS";
  return onednn.empty() ? name : name + ", oneDNN " + onednn;
}

std::string cpu_isa() { return at::get_cpu_capability() + " on " + cpu_model(); }

}  // namespace titan::train
