#pragma once
// XXH3-128 digests in canonical (big-endian) form.
// \source https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ckpt/base/result.h"

namespace titan::ckpt {

/// `bytes` as lower-case hex digits.
std::string hex_of(std::span<const std::uint8_t> bytes);

/// An XXH3-128 digest: 16 bytes in canonical order, which hex() prints from left to right.
struct Digest {
  std::array<std::uint8_t, 16> bytes{};
  auto operator<=>(const Digest&) const = default;
  std::string hex() const;  ///< 32 lower-case digits
};

/// Parses 32 lower-case hex digits; nullopt for anything else.
std::optional<Digest> digest_from_hex(std::string_view hex);

/// The digest of `data`.
Digest digest_of(std::span<const std::byte> data);
Digest digest_of(std::string_view data);

/// Incremental digest. The result equals digest_of() of all the data, however it is divided among calls of update().
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;
  void update(std::span<const std::byte> data);
  Digest digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Typed encoding for identities: each field is one tag byte, then its value. A string is a u64 length and its bytes;
/// an integer is a u64; a double is its IEEE-754 bits; all numbers are little-endian. Two different field
/// sequences never encode to the same bytes. \source FORMAT.md, "Digests and the id"
class IdentityEncoder {
 public:
  void str(std::string_view value);  ///< tag 's'
  void u64(std::uint64_t value);     ///< tag 'u'
  void f64(double value);            ///< tag 'd'
  void boolean(bool value);          ///< tag 'b', one byte
  void digest(const Digest& value);  ///< tag 'h', 16 bytes
  void absent();                     ///< tag '-': the field is missing
  void list(std::uint64_t count);    ///< tag 'l': `count` elements follow
  Digest finish() const;             ///< XXH3-128 of everything so far
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace titan::ckpt
