#include "recipe/plan/device_figures.h"

#include <algorithm>

#include "ckpt/base/nearest.h"
#include "ckpt/base/text.h"

namespace titan::recipe {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::uint64_t kReserve = 2 * kGiB;

struct Known {
  const char* name;
  std::uint64_t gib;  ///< the usable part of the advertised memory
  double bf16, fp32, memory, nvlink, nic;
};

// \source NVIDIA's data sheets of the SXM modules, with half of the published bidirectional link rate. Network: a
// ConnectX-6 (200 Gb/s) or ConnectX-7 (400 Gb/s) for each GPU, as in DGX.
constexpr Known kDevices[] = {
    {"a100", 79, 312, 19.5, 2039, 300, 25},
    {"b200", 178, 2250, 75, 8000, 900, 50},
    {"h100", 79, 989, 67, 3350, 450, 50},
    {"h200", 139, 989, 67, 4800, 450, 50},
};

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Known& known : kDevices) all.emplace_back(known.name);
  return all;
}

}  // namespace

std::string known_devices() { return ckpt::joined(kDevices, ", ", &Known::name); }

ckpt::Result<DeviceFigures> device_figures(const std::string& name) {
  const Known* known = std::ranges::find(kDevices, name, [](const Known& device) { return std::string(device.name); });
  if (known == std::end(kDevices))
    return ckpt::invalid("no figures of a device \"" + name + "\"; known are " + known_devices())
        .with_hint(ckpt::did_you_mean(name, names()));
  DeviceFigures figures;
  figures.name = known->name;
  figures.memory_bytes = known->gib * kGiB;
  figures.bf16_tflops = known->bf16;
  figures.fp32_tflops = known->fp32;
  figures.memory_gb_s = known->memory;
  figures.nvlink_gb_s = known->nvlink;
  figures.nic_gb_s = known->nic;
  figures.reserve_bytes = kReserve;
  return figures;
}

}  // namespace titan::recipe
