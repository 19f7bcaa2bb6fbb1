#pragma once
// Arithmetic of GF(2^8) with the polynomial x^8 + x^4 + x^3 + x^2 + 1, and a Reed-Solomon code over it: r parity blocks
// are computed from n data blocks, and any n of the n + r blocks restore the others.
// \source Plank, "Optimizing Cauchy Reed-Solomon Codes"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace titan::ckpt {

std::uint8_t galois_product(std::uint8_t a, std::uint8_t b);
/// 1 / a. `a` must not be 0.
std::uint8_t galois_inverse(std::uint8_t a);

/// Adds `source` times factors[k] to targets[k], for each k. No target is shorter than `source`.
void galois_add(std::span<const std::byte> source, std::span<const std::uint8_t> factors,
                std::span<const std::span<std::byte>> targets);

/// The factor of data block `column` in parity block `row`: an entry of a Cauchy matrix. row < 16, column < 240.
std::uint8_t cauchy(std::uint32_t row, std::uint32_t column);

/// Rows of a square matrix.
using GaloisMatrix = std::vector<std::vector<std::uint8_t>>;
/// The inverse of `matrix`; empty if there is none.
std::optional<GaloisMatrix> galois_inverse(GaloisMatrix matrix);

}  // namespace titan::ckpt
