#pragma once
// Sizes in bytes as text.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace titan::ckpt {

/// "1023 B", "1.5 GiB".
std::string size_text(std::uint64_t bytes);
/// A number of bytes without a unit, or with a decimal (B, KB, MB, GB, TB) or binary one (K, KiB, M, MiB, G, GiB, T,
/// TiB): "500MB", "4GiB". nullopt for any other text, for 0 and for 2^64 or more.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

}  // namespace titan::ckpt
