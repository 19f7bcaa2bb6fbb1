#pragma once
// The library for fp32 matrix products on the CPU. Different libraries round differently, so their results differ in
// bits.

namespace titan::recipe {

enum class CpuGemm { kMkl, kOneDnn };

/// "mkl", "onednn": the value of training.cpu_gemm.
constexpr const char* gemm_name(CpuGemm gemm) { return gemm == CpuGemm::kOneDnn ? "onednn" : "mkl"; }

}  // namespace titan::recipe
