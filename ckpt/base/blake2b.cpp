#include "ckpt/base/blake2b.h"

#include <sodium.h>

namespace titan::ckpt {

struct Blake2b::State {
  crypto_generichash_blake2b_state state;
};

Blake2b::Blake2b() : state_(std::make_unique<State>()) {
  // Chooses the fastest implementation. Its return value concerns libsodium's random numbers, which are not used here.
  [[maybe_unused]] const int ready = sodium_init();
  (void)crypto_generichash_blake2b_init(&state_->state, nullptr, 0, sizeof(Blake2bDigest::bytes));
}
Blake2b::~Blake2b() = default;

void Blake2b::update(std::span<const std::byte> data) {
  (void)crypto_generichash_blake2b_update(&state_->state, reinterpret_cast<const unsigned char*>(data.data()),
                                          data.size());
}

Blake2bDigest Blake2b::digest() {
  Blake2bDigest digest;
  (void)crypto_generichash_blake2b_final(&state_->state, digest.bytes.data(), digest.bytes.size());
  return digest;
}

bool bytes_of_hex(std::string_view hex, std::span<std::uint8_t> out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (hex.size() != 2 * out.size()) return false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t high = kDigits.find(hex[2 * i]), low = kDigits.find(hex[2 * i + 1]);
    if (high == kDigits.npos || low == kDigits.npos) return false;
    out[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return true;
}

}  // namespace titan::ckpt
