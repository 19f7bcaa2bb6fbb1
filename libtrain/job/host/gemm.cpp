#include "libtrain/job/host/gemm.h"

#include <cstring>
#include <string_view>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "ckpt/base/text.h"
#include "ckpt/plan/lr_settings.h"
#include "recipe/keys/config.h"

namespace titan::train {
namespace {

using recipe::CpuGemm;

constexpr const char *kRow = "gemm", *kLibraries = "blas";
constexpr std::string_view kAmd = "AuthenticAMD family ";
// Measured: on family 25 (Zen 4) both libraries are equally fast in fp32, and MKL's product for weight gradients is
// faster; on family 26 (Zen 5) oneDNN is twice as fast.
constexpr unsigned int kFirstForOneDnn = 26;

#if defined(__x86_64__) || defined(__i386__)
/// Decodes cpuid's first leaf: the part of the family above 15 is in a separate field.
unsigned int family_of(unsigned int signature) {
  const unsigned int base = signature >> 8 & 0xf, extended = signature >> 20 & 0xff;
  return base == 0xf ? base + extended : base;
}
#endif

}  // namespace

std::string processor_name() {
#if defined(__x86_64__) || defined(__i386__)
  unsigned int leaves = 0, words[3] = {};  // the name is in ebx, edx, ecx
  unsigned int signature = 0, rest[3] = {};
  if (__get_cpuid(0, &leaves, &words[0], &words[2], &words[1]) != 0 &&
      __get_cpuid(1, &signature, &rest[0], &rest[1], &rest[2]) != 0) {
    char name[sizeof words];
    std::memcpy(name, words, sizeof words);
    return std::string(name, sizeof words) + " family " + std::to_string(family_of(signature));
  }
#endif
  return "unknown";
}

CpuGemm gemm_of(const std::string& processor) {
  if (!processor.starts_with(kAmd)) return CpuGemm::kMkl;
  const std::optional<unsigned int> family = ckpt::number_of<unsigned int>(processor.substr(kAmd.size()));
  return family.value_or(0) >= kFirstForOneDnn ? CpuGemm::kOneDnn : CpuGemm::kMkl;
}

std::optional<CpuGemm> stored_gemm(const ckpt::Settings& environment) {
  if (ckpt::setting(environment, kRow) == recipe::gemm_name(CpuGemm::kOneDnn)) return CpuGemm::kOneDnn;
  if (!ckpt::has_setting(environment, kLibraries)) return {};
  return CpuGemm::kMkl;
}

CpuGemm resolve_gemm(const recipe::Config& config, std::optional<CpuGemm> stored, const std::string& processor) {
  const std::string& asked = config.training.cpu_gemm;
  if (asked != "auto") return asked == recipe::gemm_name(CpuGemm::kOneDnn) ? CpuGemm::kOneDnn : CpuGemm::kMkl;
  if (stored) return *stored;
  return gemm_of(processor);
}

ckpt::Settings gemm_rows(CpuGemm gemm) {
  if (gemm == CpuGemm::kMkl) return {};
  return {{kRow, recipe::gemm_name(gemm)}};
}

}  // namespace titan::train
