#pragma once
// Which ranks write into the same shard files: ranks of one host, since only they see each other's unsynced bytes.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace titan::ckpt {

/// By rank: the rank that makes its shard files. The ranks of a host, which `hosts` names by rank, are dealt in order
/// to at most `files` makers, as evenly as can be; the lowest rank of each group makes the files.
std::vector<std::uint32_t> file_makers(std::span<const std::string> hosts, std::uint32_t files);

}  // namespace titan::ckpt
