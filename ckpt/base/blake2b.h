#pragma once
// BLAKE2b-256, a cryptographic hash: unlike XXH3, it also detects deliberate changes. \source RFC 7693
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace titan::ckpt {

struct Blake2bDigest {
  std::array<std::uint8_t, 32> bytes{};
  auto operator<=>(const Blake2bDigest&) const = default;
};

/// Incremental hash. The digest does not depend on how the data is divided among calls of update().
class Blake2b {
 public:
  Blake2b();
  ~Blake2b();
  void update(std::span<const std::byte> data);
  Blake2bDigest digest();  ///< of all data so far; call it once, at the end

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// `bytes` as lower-case hex digits, two per byte.
/// The inverse of hex_of(). Returns false unless `hex` has exactly 2 * out.size() lower-case hex digits.
bool bytes_of_hex(std::string_view hex, std::span<std::uint8_t> out);

}  // namespace titan::ckpt
