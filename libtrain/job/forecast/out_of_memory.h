#pragma once
// The error of a rank that ran out of memory: what uses how much, and which setting would save memory. Pure.
#include <cstdint>
#include <string>

#include "ckpt/base/status.h"

namespace titan::recipe {
struct Config;
struct RunPlan;
}  // namespace titan::recipe

namespace titan::train {

/// What is known about memory at the time of the error, in bytes.
struct MemoryUse {
  std::string owner;          ///< "rank 3", "the GPU of rank 3"
  std::uint64_t total = 0;    ///< of the host or GPU; 0: not known
  std::uint64_t tensors = 0;  ///< held by tensors
  std::uint64_t kept = 0;     ///< held by the allocator in addition (fragmentation)
};

/// `pp_rank`: the pipeline rank that ran out of memory. `what`: the library's error text.
ckpt::Status out_of_memory(const recipe::Config& config, const recipe::RunPlan& plan, std::uint32_t pp_rank,
                           const MemoryUse& use, const std::string& what);

/// Whether an error with this text says that memory could not be allocated.
bool tells_of_memory(const std::string& what);

}  // namespace titan::train
