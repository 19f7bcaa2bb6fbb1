#include "ckpt/plan/file_makers.h"

#include <algorithm>
#include <map>

namespace titan::ckpt {

std::vector<std::uint32_t> file_makers(std::span<const std::string> hosts, std::uint32_t files) {
  std::map<std::string, std::vector<std::uint32_t>> ranks_of;
  for (std::uint32_t rank = 0; rank < hosts.size(); ++rank) ranks_of[hosts[rank]].push_back(rank);
  std::vector<std::uint32_t> makers(hosts.size());
  for (const auto& [host, ranks] : ranks_of) {
    const std::uint64_t groups = std::min<std::uint64_t>(ranks.size(), files);
    std::size_t begin = 0;
    for (std::uint64_t group = 0; group < groups; ++group) {
      const std::size_t end = ranks.size() * (group + 1) / groups;
      for (std::size_t i = begin; i < end; ++i) makers[ranks[i]] = ranks[begin];
      begin = end;
    }
  }
  return makers;
}

}  // namespace titan::ckpt
