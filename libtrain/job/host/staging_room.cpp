#include "libtrain/job/host/staging_room.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

#include "recipe/keys/config.h"

namespace titan::train {
namespace {

/// The first number of a text; 0 where there is none.
std::uint64_t first_number(std::string_view text) {
  const std::size_t at = text.find_first_of("0123456789");
  std::uint64_t number = 0;
  if (at != std::string_view::npos) std::from_chars(text.data() + at, text.data() + text.size(), number);
  return number;
}

std::string text_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::uint64_t free_memory(std::string_view meminfo, std::string_view group_limit, std::string_view group_use) {
  constexpr std::string_view kName = "MemAvailable:";
  const std::size_t at = meminfo.find(kName);
  if (at == std::string_view::npos) return 0;
  const std::string_view line = meminfo.substr(at + kName.size(), meminfo.find('\n', at) - at - kName.size());
  const std::uint64_t of_host = first_number(line) << 10, limit = first_number(group_limit),
                      use = first_number(group_use);
  if (limit == 0) return of_host;
  return std::min(of_host, limit - std::min(limit, use));
}

std::uint64_t free_memory() {
  return free_memory(text_of("/proc/meminfo"), text_of("/sys/fs/cgroup/memory.max"),
                     text_of("/sys/fs/cgroup/memory.current"));
}

std::uint64_t staging_room(std::uint64_t configured, std::uint64_t owned, bool on_device, std::uint64_t free,
                           std::uint64_t ranks) {
  const auto by_default = static_cast<std::uint64_t>(recipe::Config{}.checkpoint.staging_bytes);
  const bool all = on_device && configured == by_default && free / std::max<std::uint64_t>(ranks, 1) / 2 >= owned;
  return all ? owned : std::min(configured, owned);
}

}  // namespace titan::train
