#pragma once
// A rank's use of its machine: memory, and model FLOP/s compared with the device's peak.
#include <cstdint>
#include <optional>
#include <string_view>

namespace titan::train {

/// VmHWM in the text of /proc/self/status, in bytes. Pure.
std::optional<std::uint64_t> peak_resident_in(std::string_view status);
/// Peak resident memory of this process in bytes, as the kernel counts it; nullopt if not available.
std::optional<std::uint64_t> peak_resident_bytes();

/// Peak dense bf16 TFLOP/s of the GPU with this name, as in torchtitan; nullopt for unknown names and for CPUs.
std::optional<double> known_peak_tflops(std::string_view device);

}  // namespace titan::train
