#pragma once
// Sizes in messages.
#include <cstdint>
#include <string>

namespace titan::ckpt {

/// "1023 B", "1.5 GiB".
std::string size_text(std::uint64_t bytes);

}  // namespace titan::ckpt
