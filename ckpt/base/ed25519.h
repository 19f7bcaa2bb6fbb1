#pragma once
// Ed25519 signatures, with keys in OpenSSL's PEM files. \source RFC 8032; RFC 8410 (the keys' DER); RFC 7468 (PEM)
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "ckpt/base/result.h"

namespace titan::ckpt {

using PublicKey = std::array<std::uint8_t, 32>;
using Signature = std::array<std::uint8_t, 64>;

inline constexpr std::size_t kMostKeyBytes = 16384;  ///< largest size of a key file

/// A private key. The destructor clears its memory.
class SigningKey {
 public:
  /// Reads the PEM text that `openssl genpkey -algorithm ed25519` writes; `what` names the file in errors.
  /// \error kInvalid: no key, a key of another kind, or a key with a password
  static Result<SigningKey> of_pem(const std::string& what, std::string_view pem);
  SigningKey(SigningKey&& other) noexcept;
  SigningKey(const SigningKey&) = delete;
  SigningKey& operator=(const SigningKey&) = delete;
  ~SigningKey();
  PublicKey public_key() const;
  /// Deterministic: the same message gives the same signature.
  Signature sign(std::string_view message) const;

 private:
  SigningKey() = default;
  std::array<std::uint8_t, 64> secret_{};
};

/// Reads the PEM text that `openssl pkey -pubout` writes; `what` names the file in errors. \error kInvalid
Result<PublicKey> public_key_of_pem(const std::string& what, std::string_view pem);

/// Whether `signature` is the signature of `message` by the private key that belongs to `key`.
bool signature_holds(const PublicKey& key, std::string_view message, const Signature& signature);

}  // namespace titan::ckpt
