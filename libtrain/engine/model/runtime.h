#pragma once
// LibTorch's process-wide switches. Only the .cpp calls at::globalContext(), whose signatures change between releases.
#include <string>

namespace titan::train {

/// Fixes threads, kernels and backends so that equal inputs give equal bits. Call it on the main thread before the
/// first tensor operation; a later call may only change `threads`. The sums of some kernels depend on `threads`, which
/// is therefore part of a run's class.
void setup_determinism(int threads);
/// Call this first in every thread that runs tensor operations: BLAS keeps its thread count per thread.
void setup_thread();

std::string torch_version();  ///< "2.11.0+cu130"
std::string blas_name();      ///< "MKL 2024.2, oneDNN 3.7.1"
std::string cpu_isa();        ///< "AVX512 on <CPU model>"

}  // namespace titan::train
