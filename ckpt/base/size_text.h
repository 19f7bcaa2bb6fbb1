#pragma once
// Sizes in bytes as text.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace titan::ckpt {

/// "1023 B", "1.5 GiB".
std::string size_text(std::uint64_t bytes);
/// "500000000", "500MB", "5GB" (decimal), "512MiB", "4GiB", "4G" (binary); nullopt for anything else and for 0.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

}  // namespace titan::ckpt
