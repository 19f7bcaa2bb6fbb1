#include "ckpt/base/ed25519.h"

#include <sodium.h>

#include <algorithm>
#include <span>
#include <vector>

namespace titan::ckpt {
namespace {

// The DER bytes before the 32 bytes of a key. \source RFC 8410, sections 4 and 7
constexpr std::array<std::uint8_t, 16> kPrivateDer{0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06,
                                                   0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20};
constexpr std::array<std::uint8_t, 12> kPublicDer{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
                                                  0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};
constexpr const char* kMakeKey = "`openssl genpkey -algorithm ed25519 -out KEY.pem` makes one";
constexpr const char* kMakePublic = "`openssl pkey -in KEY.pem -pubout -out PUB.pem` makes one of a private key";

/// Bytes that the destructor clears.
struct Secret {
  std::vector<std::uint8_t> bytes;
  ~Secret() { sodium_memzero(bytes.data(), bytes.size()); }
};

/// Puts the bytes of the block `label` of a PEM text into `out`; false if there is none, or it is malformed.
bool pem_block(std::string_view pem, std::string_view label, std::vector<std::uint8_t>& out) {
  const std::string begin = "-----BEGIN " + std::string(label) + "-----", end = "-----END " + std::string(label);
  const std::size_t first = pem.find(begin);
  if (first == pem.npos) return false;
  const std::size_t body = first + begin.size(), last = pem.find(end, body);
  if (last == pem.npos) return false;
  out.resize(kMostKeyBytes);
  std::size_t size = 0;
  const int failed = sodium_base642bin(out.data(), out.size(), pem.data() + body, last - body, " \r\n\t", &size,
                                       nullptr, sodium_base64_VARIANT_ORIGINAL);
  out.resize(failed == 0 ? size : 0);
  return failed == 0;
}

/// Describes the content of a file that is not the expected key.
std::string looks_like(std::string_view pem) {
  const auto has = [&](std::string_view label) {
    return pem.find("-----BEGIN " + std::string(label) + "-----") != pem.npos;
  };
  if (has("ENCRYPTED PRIVATE KEY")) return "a private key with a password, which is not supported yet";
  if (has("OPENSSH PRIVATE KEY")) return "a private key of ssh-keygen, which is not supported yet";
  if (pem.starts_with("ssh-")) return "a public key of ssh-keygen, which is not supported yet";
  if (has("PUBLIC KEY")) return "a public key";
  if (has("PRIVATE KEY")) return "a private key";
  return pem.find("-----BEGIN ") != pem.npos ? "PEM of something else" : "no key";
}

template <std::size_t N>
bool is_key(std::span<const std::uint8_t> der, const std::array<std::uint8_t, N>& prefix) {
  return der.size() == N + 32 && std::equal(prefix.begin(), prefix.end(), der.begin());
}

}  // namespace

Result<SigningKey> SigningKey::of_pem(const std::string& what, std::string_view pem) {
  [[maybe_unused]] const int ready = sodium_init();
  Secret der;
  if (!pem_block(pem, "PRIVATE KEY", der.bytes))
    return invalid(what + " is " + looks_like(pem) + "; expected an Ed25519 private key as PEM").with_hint(kMakeKey);
  if (!is_key(der.bytes, kPrivateDer))
    return invalid(what + " is a private key, but none of Ed25519").with_hint(kMakeKey);
  SigningKey key;
  PublicKey unused;
  (void)crypto_sign_seed_keypair(unused.data(), key.secret_.data(), der.bytes.data() + kPrivateDer.size());
  return key;
}

SigningKey::SigningKey(SigningKey&& other) noexcept : secret_(other.secret_) {
  sodium_memzero(other.secret_.data(), other.secret_.size());
}
SigningKey::~SigningKey() { sodium_memzero(secret_.data(), secret_.size()); }

PublicKey SigningKey::public_key() const {
  PublicKey key;
  std::copy(secret_.begin() + 32, secret_.end(), key.begin());
  return key;
}

Signature SigningKey::sign(std::string_view message) const {
  Signature signature;
  (void)crypto_sign_detached(signature.data(), nullptr, reinterpret_cast<const unsigned char*>(message.data()),
                             message.size(), secret_.data());
  return signature;
}

Result<PublicKey> public_key_of_pem(const std::string& what, std::string_view pem) {
  std::vector<std::uint8_t> der;
  if (!pem_block(pem, "PUBLIC KEY", der))
    return invalid(what + " is " + looks_like(pem) + "; expected an Ed25519 public key as PEM").with_hint(kMakePublic);
  if (!is_key(der, kPublicDer)) return invalid(what + " is a public key, but none of Ed25519").with_hint(kMakePublic);
  PublicKey key;
  std::copy(der.begin() + kPublicDer.size(), der.end(), key.begin());
  return key;
}

bool signature_holds(const PublicKey& key, std::string_view message, const Signature& signature) {
  return crypto_sign_verify_detached(signature.data(), reinterpret_cast<const unsigned char*>(message.data()),
                                     message.size(), key.data()) == 0;
}

}  // namespace titan::ckpt
