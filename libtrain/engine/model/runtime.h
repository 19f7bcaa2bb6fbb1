#pragma once
// LibTorch's process-wide switches. at::globalContext(), whose signatures change between releases, is called only here
// and in cuda/gpu_switches.cpp.
#include <string>

namespace titan::train {

/// Sets the number of computing threads, and selects deterministic kernels, so that equal inputs give equal bits. Call
/// it on the main thread before the first tensor operation; a later call changes only `threads`. The sums of some
/// kernels depend on `threads`, which is therefore part of a run's class (glossary).
void setup_determinism(int threads);
/// Sets the number of computing threads, that of setup_determinism(), for the calling thread, since BLAS keeps it per
/// thread. Call this first in every thread that runs tensor operations.
void setup_thread();

std::string torch_version();  ///< "2.11.0+cu130"
std::string blas_name();      ///< "MKL 2024.2, oneDNN 3.7.1"
std::string cpu_isa();        ///< "AVX512 on <CPU model>"

}  // namespace titan::train
