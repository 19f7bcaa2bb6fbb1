#pragma once
// Which ranks write into common shard files. Only ranks of one host do, because another host may not see bytes that are
// not synced yet.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace titan::ckpt {

/// For each rank r, the rank that creates the shard files into which r writes. `hosts[r]` is the host of rank r. The
/// ranks of a host, in order, form at most `files` groups of nearly equal size; the lowest rank of a group creates its
/// files.
std::vector<std::uint32_t> file_makers(std::span<const std::string> hosts, std::uint32_t files);

}  // namespace titan::ckpt
