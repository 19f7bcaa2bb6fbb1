#pragma once
// How much of its machine a rank uses: memory, and arithmetic compared with the device's peak.
#include <cstdint>
#include <optional>
#include <string_view>

namespace titan::train {

/// VmHWM in the text of /proc/self/status, in bytes. Pure.
std::optional<std::uint64_t> peak_resident_in(std::string_view status);
/// The most memory that this process has held, as the kernel counts it; nothing if the kernel does not tell.
std::optional<std::uint64_t> peak_resident_bytes();

/// Peak dense bf16 TFLOP/s of the GPU with this name, in torchtitan's figures; nothing for unknown names and for CPUs.
std::optional<double> known_peak_tflops(std::string_view device);

}  // namespace titan::train
