#pragma once
// What a rank says that has no memory left: what needs how much, and which setting would save it. Pure.
#include <cstdint>
#include <string>

#include "ckpt/base/status.h"
#include "recipe/plan/run_plan.h"

namespace titan::recipe {
struct Config;
}

namespace titan::train {

/// What is known of the memory at that time.
struct MemoryUse {
  std::string owner;          ///< "rank 3", "the GPU of rank 3"
  std::uint64_t total = 0;    ///< that there is; 0: not known
  std::uint64_t tensors = 0;  ///< that tensors hold
  std::uint64_t kept = 0;     ///< that the allocator keeps besides, in pieces
};

/// `pp_rank`: the rank of the pipeline that it happened to. `what`: what the library said.
ckpt::Status out_of_memory(const recipe::Config& config, const recipe::RunPlan& plan, std::uint32_t pp_rank,
                           const MemoryUse& use, const std::string& what);

/// Whether an error with this text says that memory could not be had.
bool tells_of_memory(const std::string& what);

}  // namespace titan::train
