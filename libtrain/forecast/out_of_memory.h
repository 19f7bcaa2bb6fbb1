#pragma once
// What a rank says whose GPU has no memory left: what needs how much, and which setting would save it. Pure.
#include <cstdint>
#include <string>

#include "ckpt/base/status.h"
#include "recipe/keys/config.h"
#include "recipe/plan/run_plan.h"

namespace titan::train {

/// What the allocator of a GPU knows at that time.
struct GpuMemory {
  std::uint64_t total = 0;    ///< of the GPU
  std::uint64_t tensors = 0;  ///< that tensors hold
  std::uint64_t kept = 0;     ///< that the allocator keeps besides, in pieces
};

/// `pp_rank`: the rank of the pipeline that it happened to.
ckpt::Status out_of_memory(const recipe::Config& config, const recipe::RunPlan& plan, int rank, std::uint32_t pp_rank,
                           const GpuMemory& memory);

}  // namespace titan::train
