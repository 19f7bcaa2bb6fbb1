#pragma once
// Chooses the library for a run's fp32 matrix products. Libraries differ in bits, so the choice is made once per run
// and never by timing: the same host always makes the same choice.
#include <optional>
#include <string>

#include "ckpt/model/settings.h"
#include "recipe/plan/cpu_gemm.h"

namespace titan::recipe {
struct Config;
}

namespace titan::train {

/// Vendor and family of this processor from cpuid: "AuthenticAMD family 25"; "unknown" on processors without cpuid.
std::string processor_name();

/// The faster library on `processor`: oneDNN on AMD family 26 and later, where MKL reaches half of the possible speed;
/// else MKL.
recipe::CpuGemm gemm_of(const std::string& processor);

/// The library named in a checkpoint's environment; MKL if none is named, as in checkpoints of versions without a
/// choice. nullopt if the checkpoint was not computed on a CPU: it was imported, or trained on a GPU.
std::optional<recipe::CpuGemm> stored_gemm(const ckpt::Settings& environment);

/// training.cpu_gemm if set, else `stored`, else gemm_of(processor).
recipe::CpuGemm resolve_gemm(const recipe::Config& config, std::optional<recipe::CpuGemm> stored,
                             const std::string& processor);

/// The environment rows that name `gemm`. MKL has no row, as in versions without a choice.
ckpt::Settings gemm_rows(recipe::CpuGemm gemm);

}  // namespace titan::train
