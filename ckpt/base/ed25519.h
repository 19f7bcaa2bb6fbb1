#pragma once
// Ed25519 keys, as OpenSSL keeps them, and signatures. \source RFC 8032; RFC 8410 (the keys' DER); RFC 7468 (PEM)
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "ckpt/base/result.h"

namespace titan::ckpt {

using PublicKey = std::array<std::uint8_t, 32>;
using Signature = std::array<std::uint8_t, 64>;

inline constexpr std::size_t kMostKeyBytes = 16384;  ///< of a file that holds a key

/// A private key; its memory is cleared when it goes.
class SigningKey {
 public:
  /// Of the PEM text that `openssl genpkey -algorithm ed25519` writes; `what` names it. \error kInvalid: another key,
  /// one with a password, or none
  static Result<SigningKey> of_pem(const std::string& what, std::string_view pem);
  SigningKey(SigningKey&& other) noexcept;
  SigningKey(const SigningKey&) = delete;
  SigningKey& operator=(const SigningKey&) = delete;
  ~SigningKey();
  PublicKey public_key() const;
  /// The same signature each time.
  Signature sign(std::string_view message) const;

 private:
  SigningKey() = default;
  std::array<std::uint8_t, 64> secret_{};
};

/// Of the PEM text that `openssl pkey -pubout` writes. \error kInvalid
Result<PublicKey> public_key_of_pem(const std::string& what, std::string_view pem);

bool signature_holds(const PublicKey& key, std::string_view message, const Signature& signature);

}  // namespace titan::ckpt
