#include "libtrain/start/gemm.h"

#include <cstring>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "ckpt/plan/lr_settings.h"

namespace titan::train {
namespace {

using recipe::CpuGemm;

constexpr const char* kRow = "gemm";
constexpr bool kOneDnnIsBuilt = false;  // no product of the engine is computed by it

}  // namespace

std::string processor_vendor() {
#if defined(__x86_64__) || defined(__i386__)
  unsigned int leaves = 0, words[3] = {};  // the name lies in ebx, edx, ecx
  if (__get_cpuid(0, &leaves, &words[0], &words[2], &words[1]) != 0) {
    char name[sizeof words];
    std::memcpy(name, words, sizeof words);
    return {name, sizeof words};
  }
#endif
  return "unknown";
}

CpuGemm gemm_of(const std::string& vendor) { return vendor == "AuthenticAMD" ? CpuGemm::kOneDnn : CpuGemm::kMkl; }

CpuGemm stored_gemm(const ckpt::Settings& environment) {
  return ckpt::setting(environment, kRow) == recipe::gemm_name(CpuGemm::kOneDnn) ? CpuGemm::kOneDnn : CpuGemm::kMkl;
}

CpuGemm resolve_gemm(const recipe::Config& config, std::optional<CpuGemm> stored, const std::string& vendor) {
  const std::string& asked = config.training.cpu_gemm;
  if (asked != "auto") return asked == recipe::gemm_name(CpuGemm::kOneDnn) ? CpuGemm::kOneDnn : CpuGemm::kMkl;
  if (stored) return *stored;
  return kOneDnnIsBuilt ? gemm_of(vendor) : CpuGemm::kMkl;
}

ckpt::Settings gemm_rows(CpuGemm gemm) {
  if (gemm == CpuGemm::kMkl) return {};
  return {{kRow, recipe::gemm_name(gemm)}};
}

}  // namespace titan::train
