#pragma once
// The byte shuffle: elements to and from planes, one plane per byte of an element. \source FORMAT.md, "Compressed
// pieces"; HDF5's filter 2
#include <cstddef>
#include <span>

namespace titan::ckpt {

/// Byte j of element i of `elements` goes to planes[j * stride + i]. `element_size` is 1, 2, 4 or 8; `planes` has
/// element_size * stride bytes; `stride` >= the number of elements. Bytes of a plane without an element become 0.
void shuffle_bytes(std::span<const std::byte> elements, std::size_t element_size, std::size_t stride,
                   std::byte* planes);

/// The inverse: fills `elements` from the first bytes of each plane.
void unshuffle_bytes(const std::byte* planes, std::size_t element_size, std::size_t stride,
                     std::span<std::byte> elements);

}  // namespace titan::ckpt
