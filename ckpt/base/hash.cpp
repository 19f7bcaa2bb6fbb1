#include "ckpt/base/hash.h"

#include <bit>
#include <cstring>

#include "ckpt/base/hash_kernel.h"

namespace titan::ckpt {
namespace {

Digest canonical(HashKernel::Value value) {
  Digest digest;
  for (int i = 0; i < 8; ++i) {
    digest.bytes[i] = static_cast<std::uint8_t>(value.high >> (56 - 8 * i));
    digest.bytes[8 + i] = static_cast<std::uint8_t>(value.low >> (56 - 8 * i));
  }
  return digest;
}

const HashKernel& kernel() {
  static const HashKernel& best = []() -> const HashKernel& {
    const HashKernels usable = usable_hash_kernels();
    return *usable.kernels[usable.count - 1];
  }();
  return best;
}

// 16 characters at once, since a manifest has a digest per tensor. Byte i of the result is the value of hex digit i.
// Byte i of `good` is cleared if character i is not a lower-case hex digit.
using Bytes16 [[gnu::vector_size(16)]] = unsigned char;

Bytes16 hex_values(const char* digits, Bytes16& good) {
  Bytes16 text;
  std::memcpy(&text, digits, sizeof text);
  const Bytes16 number = text - '0', letter = text - 'a';
  const auto is_number = reinterpret_cast<Bytes16>(number < 10), is_letter = reinterpret_cast<Bytes16>(letter < 6);
  good &= is_number | is_letter;
  return (number & is_number) | ((letter + 10) & is_letter);
}

void put_u64(std::string& out, std::uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(value >> shift & 0xff));
}

}  // namespace

std::string hex_of(std::span<const std::uint8_t> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::uint8_t byte : bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

std::string Digest::hex() const { return hex_of(bytes); }

std::optional<Digest> digest_from_hex(std::string_view hex) {
  Digest digest;
  if (hex.size() != 2 * digest.bytes.size()) return std::nullopt;
  Bytes16 good = ~Bytes16{};
  const Bytes16 first = hex_values(hex.data(), good), second = hex_values(hex.data() + 16, good);
  std::uint64_t all[2];
  std::memcpy(all, &good, sizeof all);
  if ((all[0] & all[1]) != ~std::uint64_t{0}) return std::nullopt;
  const Bytes16 high =
      __builtin_shufflevector(first, second, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const Bytes16 low = __builtin_shufflevector(first, second, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  const Bytes16 bytes = high << 4 | low;
  std::memcpy(digest.bytes.data(), &bytes, sizeof bytes);
  return digest;
}

HashKernels usable_hash_kernels() {
  HashKernels usable{{portable_hash_kernel()}, 1};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && avx2_hash_kernel()) usable.kernels[usable.count++] = avx2_hash_kernel();
  if (__builtin_cpu_supports("avx512f") && avx512_hash_kernel()) usable.kernels[usable.count++] = avx512_hash_kernel();
#endif
  return usable;
}

Digest digest_of(std::span<const std::byte> data) { return canonical(kernel().hash(data.data(), data.size())); }

Digest digest_of(std::string_view data) { return canonical(kernel().hash(data.data(), data.size())); }

struct Hasher::State {
  HashKernel::State kernel;
};

Hasher::Hasher() : state_(std::make_unique<State>()) { kernel().reset(state_->kernel); }
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::update(std::span<const std::byte> data) { kernel().update(state_->kernel, data.data(), data.size()); }

Digest Hasher::digest() const { return canonical(kernel().digest(state_->kernel)); }

void IdentityEncoder::str(std::string_view value) {
  bytes_.push_back('s');
  put_u64(bytes_, value.size());
  bytes_.append(value);
}

void IdentityEncoder::u64(std::uint64_t value) {
  bytes_.push_back('u');
  put_u64(bytes_, value);
}

void IdentityEncoder::f64(double value) {
  bytes_.push_back('d');
  put_u64(bytes_, std::bit_cast<std::uint64_t>(value));
}

void IdentityEncoder::boolean(bool value) {
  bytes_.push_back('b');
  bytes_.push_back(value ? '\1' : '\0');
}

void IdentityEncoder::digest(const Digest& value) {
  bytes_.push_back('h');
  for (std::uint8_t byte : value.bytes) bytes_.push_back(static_cast<char>(byte));
}

void IdentityEncoder::absent() { bytes_.push_back('-'); }

void IdentityEncoder::list(std::uint64_t count) {
  bytes_.push_back('l');
  put_u64(bytes_, count);
}

Digest IdentityEncoder::finish() const { return digest_of(std::string_view(bytes_)); }

}  // namespace titan::ckpt
