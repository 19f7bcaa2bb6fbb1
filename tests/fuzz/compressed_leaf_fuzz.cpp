// A row of a leaf table (64 bytes) and a shard's bytes, after a byte each for element size, chunk and leaf: a row that
// fits is read within the bounds of its chunk, and the row that its bytes should have reads back as a whole leaf.
#include <algorithm>
#include <string>

#include "ckpt/format/leaf_codec.h"
#include "ckpt/read/shard_reader.h"
#include "tests/fuzz/bytes_file.h"
#include "tests/fuzz/checkpoint_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace titan::ckpt;
  using titan::fuzz::require;
  if (size < 5 + kLeafRowBytes) return 0;
  const auto bytes = std::as_bytes(std::span(data, size));
  const std::uint64_t element = std::uint64_t{1} << (data[0] % 4), chunk = 1 + (data[1] | data[2] << 8),
                      elements = 1 + (data[3] | data[4] << 8) % chunk;
  LeafRow row = decode_leaf_table(bytes.subspan(5, kLeafRowBytes)).front();
  if (data[0] & 16) row.raw_bytes = elements * element;  // or hardly any row would fit
  const auto stored = bytes.subspan(5 + kLeafRowBytes);
  titan::fuzz::BytesFile file(stored);
  const LeafPlace leaf{elements * element, chunk * element, element, Codec::kZstd, {}};
  if (!row_fits(row, leaf, stored.size())) return 0;
  LeafReader reader;
  const auto measured = reader.measure(file, row, leaf);
  require(measured.ok() && measured->offset == row.offset && measured->stored_bytes == row.stored_bytes);
  std::vector<std::byte> raw(leaf.raw_bytes), again(leaf.raw_bytes);
  const Status read = reader.read(file, *measured, leaf, raw);
  if (!read.ok()) {
    // What cannot be decoded is no row's leaf.
    require(read.code == Code::kCorrupt && measured->raw != row.raw);
    return 0;
  }
  // Our own encoder stores the same leaf.
  LeafEncoder encoder;
  const auto encoded = encoder.encode(raw, element, leaf.chunk_bytes);
  require(encoded.ok() &&
          LeafDecoder().decode(encoded->bytes, encoded->filter_mask, element, leaf.chunk_bytes, again).ok() &&
          again == raw);
  return 0;
}
