#pragma once
// How much of its machine a rank uses: memory, and arithmetic against the device's peak.
#include <cstdint>
#include <optional>
#include <string_view>

namespace titan::train {

/// VmHWM in the text of /proc/self/status, bytes. Pure.
std::optional<std::uint64_t> peak_resident_in(std::string_view status);
/// The most memory that this process has held, as the kernel counts; nothing where it does not say.
std::optional<std::uint64_t> peak_resident_bytes();

/// Dense bf16 TFLOP/s of a device that is known by this name, as torchtitan counts; nothing for another, and for
/// processors.
std::optional<double> known_peak_tflops(std::string_view device);

}  // namespace titan::train
