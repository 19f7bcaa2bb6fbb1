#pragma once
// The byte shuffle: splits elements into planes, one for each byte of an element, and joins them again.
// \source FORMAT.md, "Compressed pieces"; HDF5's filter 2
#include <cstddef>
#include <span>

namespace titan::ckpt {

/// Byte j of element i goes to planes[j * stride + i]. `element_size`: 1, 2, 4 or 8 bytes. `planes` has element_size *
/// stride bytes. `stride` is at least the number of elements; bytes of a plane after the last element become 0.
void shuffle_bytes(std::span<const std::byte> elements, std::size_t element_size, std::size_t stride,
                   std::byte* planes);

/// The inverse of shuffle_bytes(): fills `elements` from the first bytes of each plane.
void unshuffle_bytes(const std::byte* planes, std::size_t element_size, std::size_t stride,
                     std::span<std::byte> elements);

}  // namespace titan::ckpt
