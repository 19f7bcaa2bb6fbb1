#pragma once
// The library of fp32 matrix products on the CPU. Each library gives other bits.

namespace titan::recipe {

enum class CpuGemm { kMkl, kOneDnn };

/// "mkl", "onednn": the value of training.cpu_gemm.
constexpr const char* gemm_name(CpuGemm gemm) { return gemm == CpuGemm::kOneDnn ? "onednn" : "mkl"; }

}  // namespace titan::recipe
