#pragma once
// How much of the host's memory the copies of a save may take.
#include <cstdint>
#include <string_view>

namespace titan::train {

/// Bytes that processes can still have, by /proc/meminfo and by the limit and the use of the control group (bytes, or
/// "max"). 0: not known.
std::uint64_t free_memory(std::string_view meminfo, std::string_view group_limit, std::string_view group_use);
/// The same of this host.
std::uint64_t free_memory();

/// Bytes of staging of a rank. `configured` is checkpoint.staging_bytes, `owned` what a save of the rank reads, `free`
/// the memory of the host that `ranks` share. Never more than is owned. Where tensors lie on a device, the default of
/// `configured` grows to what is owned, if the host has twice that for every rank.
std::uint64_t staging_room(std::uint64_t configured, std::uint64_t owned, bool on_device, std::uint64_t free,
                           std::uint64_t ranks);

}  // namespace titan::train
