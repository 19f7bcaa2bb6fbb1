#include "libtrain/job/metrics/device_use.h"

#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace titan::train {

std::optional<std::uint64_t> peak_resident_in(std::string_view status) {
  constexpr std::string_view kKey = "VmHWM:";
  std::size_t at = status.starts_with(kKey) ? 0 : status.find("\nVmHWM:");
  if (at == std::string_view::npos) return std::nullopt;
  at = status.find_first_not_of(" \t", status.find(':', at) + 1);
  if (at == std::string_view::npos) return std::nullopt;
  std::uint64_t kib = 0;
  const auto [end, error] = std::from_chars(status.data() + at, status.data() + status.size(), kib);
  if (error != std::errc{} || !status.substr(static_cast<std::size_t>(end - status.data())).starts_with(" kB"))
    return std::nullopt;
  return kib * 1024;
}

std::optional<std::uint64_t> peak_resident_bytes() {
  std::ifstream file("/proc/self/status");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return peak_resident_in(text);
}

// \source torchtitan v0.2.2, tools/utils.py get_peak_flops
std::optional<double> known_peak_tflops(std::string_view device) {
  struct Known {
    std::string_view part, also;
    double tflops;
  };
  // The first match counts: an H100 that is neither of the first two kinds is an SXM.
  constexpr std::array<Known, 6> kKnown{{{"A100", "", 312},
                                         {"H100", "NVL", 835},
                                         {"H100", "PCIe", 756},
                                         {"H100", "", 989},
                                         {"H200", "", 989},
                                         {"B200", "", 2250}}};
  const auto has = [&](std::string_view part) { return device.find(part) != std::string_view::npos; };
  for (const Known& known : kKnown)
    if (has(known.part) && has(known.also)) return known.tflops;
  return std::nullopt;
}

}  // namespace titan::train
