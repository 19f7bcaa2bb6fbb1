#pragma once
// Which library computes the fp32 matrix products of a run. Each has its own bits, so that it is settled once per run
// and never by timing: a machine is one class.
#include <optional>
#include <string>

#include "ckpt/model/settings.h"
#include "recipe/plan/cpu_gemm.h"

namespace titan::recipe {
struct Config;
}

namespace titan::train {

/// Who made this processor and its family, as cpuid says them: "AuthenticAMD family 25"; "unknown" elsewhere.
std::string processor_name();

/// The faster library on such a processor: oneDNN on AMD's family 26 and later, where MKL stays at half of what they
/// can do.
recipe::CpuGemm gemm_of(const std::string& processor);

/// The library that the environment of a checkpoint names. Checkpoints from before there was a choice name none and
/// were computed by MKL. Nothing where no CPU computed it: imported, or trained on a GPU.
std::optional<recipe::CpuGemm> stored_gemm(const ckpt::Settings& environment);

/// training.cpu_gemm, else `stored`, else that of `processor`.
recipe::CpuGemm resolve_gemm(const recipe::Config& config, std::optional<recipe::CpuGemm> stored,
                             const std::string& processor);

/// How the environment of a checkpoint names `gemm`: MKL is not named, as before there was a choice.
ckpt::Settings gemm_rows(recipe::CpuGemm gemm);

}  // namespace titan::train
