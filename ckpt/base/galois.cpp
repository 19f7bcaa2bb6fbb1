#include "ckpt/base/galois.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace titan::ckpt {
namespace {

constexpr unsigned kPolynomial = 0x1D;  // the polynomial without x^8
constexpr std::uint32_t kCauchyRows = 16;

// 16 bytes in one register: every supported machine has registers of that width.
using Words16 [[gnu::vector_size(16)]] = std::uint64_t;
constexpr std::uint64_t kEach = 0x0101010101010101;

/// Each byte times x.
Words16 doubled(Words16 v) {
  const Words16 high = v & (0x80 * kEach);
  const Words16 overflow = (high - (high >> 7)) | high;  // 0xFF for each byte whose high bit is shifted out
  return ((v ^ high) << 1) ^ (overflow & (kPolynomial * kEach));
}

/// All bits where bit `bit` of the factor is set.
std::uint64_t mask_of(std::uint8_t factor, int bit) { return (factor >> bit & 1) != 0 ? ~std::uint64_t{0} : 0; }

template <std::size_t kTargets>
void add_blocks(const std::byte* source, std::size_t blocks, const std::uint8_t* factors,
                const std::span<std::byte>* targets) {
  std::uint64_t masks[8][kTargets];
  for (int bit = 0; bit < 8; ++bit)
    for (std::size_t k = 0; k < kTargets; ++k) masks[bit][k] = mask_of(factors[k], bit);
  for (std::size_t i = 0; i < blocks; ++i) {
    Words16 v, sums[kTargets];
    std::memcpy(&v, source + i * sizeof v, sizeof v);
    for (std::size_t k = 0; k < kTargets; ++k) std::memcpy(&sums[k], targets[k].data() + i * sizeof v, sizeof v);
    for (int bit = 0; bit < 8; ++bit) {
      for (std::size_t k = 0; k < kTargets; ++k) sums[k] ^= v & masks[bit][k];
      v = doubled(v);
    }
    for (std::size_t k = 0; k < kTargets; ++k) std::memcpy(targets[k].data() + i * sizeof v, &sums[k], sizeof v);
  }
}

}  // namespace

std::uint8_t galois_product(std::uint8_t a, std::uint8_t b) {
  unsigned sum = 0, v = a;
  for (int bit = 0; bit < 8; ++bit) {
    if ((b >> bit & 1) != 0) sum ^= v;
    v = (v << 1) ^ ((v & 0x80) != 0 ? 0x100 | kPolynomial : 0);
  }
  return static_cast<std::uint8_t>(sum);
}

std::uint8_t galois_inverse(std::uint8_t a) {
  std::uint8_t power = 1;  // a^254: a^255 is 1
  for (int i = 0; i < 254; ++i) power = galois_product(power, a);
  return power;
}

void galois_add(std::span<const std::byte> source, std::span<const std::uint8_t> factors,
                std::span<const std::span<std::byte>> targets) {
  const std::size_t blocks = source.size() / sizeof(Words16);
  for (std::size_t k = 0; k < factors.size();) {
    const std::size_t left = factors.size() - k;
    const auto add = left >= 4 ? add_blocks<4> : left == 3 ? add_blocks<3> : left == 2 ? add_blocks<2> : add_blocks<1>;
    add(source.data(), blocks, &factors[k], &targets[k]);
    k += std::min<std::size_t>(left, 4);
  }
  for (std::size_t i = blocks * sizeof(Words16); i < source.size(); ++i)
    for (std::size_t k = 0; k < factors.size(); ++k)
      targets[k][i] ^= static_cast<std::byte>(galois_product(static_cast<std::uint8_t>(source[i]), factors[k]));
}

std::uint8_t cauchy(std::uint32_t row, std::uint32_t column) {
  return galois_inverse(static_cast<std::uint8_t>(row ^ (column + kCauchyRows)));
}

std::optional<GaloisMatrix> galois_inverse(GaloisMatrix matrix) {
  const std::size_t n = matrix.size();
  for (std::size_t i = 0; i < n; ++i) {
    matrix[i].resize(2 * n);
    matrix[i][n + i] = 1;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const auto pivot = std::find_if(matrix.begin() + static_cast<std::ptrdiff_t>(i), matrix.end(),
                                    [&](const auto& row) { return row[i] != 0; });
    if (pivot == matrix.end()) return std::nullopt;
    std::swap(matrix[i], *pivot);
    const std::uint8_t scale = galois_inverse(matrix[i][i]);
    for (std::uint8_t& value : matrix[i]) value = galois_product(value, scale);
    for (std::size_t other = 0; other < n; ++other) {
      const std::uint8_t factor = other == i ? std::uint8_t{0} : matrix[other][i];
      for (std::size_t c = 0; c < 2 * n; ++c)
        matrix[other][c] = static_cast<std::uint8_t>(matrix[other][c] ^ galois_product(factor, matrix[i][c]));
    }
  }
  for (auto& row : matrix) row.erase(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(n));
  return matrix;
}

}  // namespace titan::ckpt
