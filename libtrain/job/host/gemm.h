#pragma once
// Which library computes the fp32 matrix products of a run. Each library has its own bits, so it is chosen once per run
// and never by timing: the same machine always chooses the same.
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

/// The faster library on `processor`: oneDNN on AMD's family 26 and later, where MKL reaches half of the possible
/// speed; else MKL.
recipe::CpuGemm gemm_of(const std::string& processor);

/// The library named in the environment of a checkpoint; MKL if none is named, as in checkpoints from before there was
/// a choice. Nothing if no CPU computed the checkpoint: it was imported, or trained on a GPU.
std::optional<recipe::CpuGemm> stored_gemm(const ckpt::Settings& environment);

/// training.cpu_gemm if set, else `stored`, else gemm_of(processor).
recipe::CpuGemm resolve_gemm(const recipe::Config& config, std::optional<recipe::CpuGemm> stored,
                             const std::string& processor);

/// The rows that name `gemm` in the environment of a checkpoint. MKL has no row, as before there was a choice.
ckpt::Settings gemm_rows(recipe::CpuGemm gemm);

}  // namespace titan::train
