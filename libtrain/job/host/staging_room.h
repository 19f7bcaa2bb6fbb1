#pragma once
// How much host memory a save may use for staging copies.
#include <cstdint>
#include <string_view>

namespace titan::train {

/// Bytes that processes can still allocate, from the content of /proc/meminfo and the cgroup's limit and usage (bytes,
/// or "max"). 0: not known.
std::uint64_t free_memory(std::string_view meminfo, std::string_view group_limit, std::string_view group_use);
/// Bytes that processes can still allocate on this host. 0: not known.
std::uint64_t free_memory();

/// Staging bytes of a rank, at most `owned`. `configured` is checkpoint.staging_bytes, `owned` the bytes that a save of
/// the rank reads, `free` the host memory that `ranks` ranks share. With tensors on a GPU, the default of `configured`
/// grows to `owned` if `free` is at least twice `owned` for every rank.
std::uint64_t staging_room(std::uint64_t configured, std::uint64_t owned, bool on_device, std::uint64_t free,
                           std::uint64_t ranks);

}  // namespace titan::train
