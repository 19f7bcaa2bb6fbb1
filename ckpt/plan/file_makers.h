#pragma once
// Which ranks share shard files: only ranks of one host, since another host may not see bytes that are not synced yet.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace titan::ckpt {

/// For each rank, the rank that makes the shard files it writes into. `hosts` names the host of each rank. The ranks of
/// a host, in order, form at most `files` groups of nearly equal size; the lowest rank of a group makes its files.
std::vector<std::uint32_t> file_makers(std::span<const std::string> hosts, std::uint32_t files);

}  // namespace titan::ckpt
