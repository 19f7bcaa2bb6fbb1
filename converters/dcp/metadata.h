#pragma once
// The `.metadata` of a DCP directory as plain values, checked for consistency. \source
// torch/distributed/checkpoint/metadata.py and planner_helpers.py of torch 1.13 to 2.15
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "converters/pickle/pickle.h"

namespace titan::convert::dcp {

inline constexpr const char *kMetadataFile = ".metadata", *kItemSuffix = ".distcp";

/// Where one item (a chunk of a tensor, or a plain value) is stored.
struct ItemPlace {
  std::uint32_t file = 0;  ///< index into Metadata::files
  std::uint64_t offset = 0, length = 0;
  bool plain = false;  ///< bare elements, row-major, in a safetensors file (shards.h); otherwise a torch.save archive
  bool operator==(const ItemPlace&) const = default;
};

/// A box of a tensor's elements, stored in one item.
struct Chunk {
  std::vector<std::uint64_t> offsets, sizes;  ///< one per dimension
  ItemPlace place;                            ///< of the item
  bool operator==(const Chunk&) const = default;
};

/// A tensor and all its chunks.
struct TensorEntry {
  std::string name;   ///< flattened key
  std::string dtype;  ///< torch's name
  std::vector<std::uint64_t> shape;
  std::vector<Chunk>
      chunks;  ///< sorted by offsets; disjoint, and together they fill the tensor. Chunks without elements are omitted
  bool operator==(const TensorEntry&) const = default;
};

/// A value other than a tensor.
struct BytesEntry {
  std::string name;
  ItemPlace place;
  bool operator==(const BytesEntry&) const = default;
};

/// The content of one `.metadata` file.
struct Metadata {
  std::string version;               ///< empty in old files
  std::vector<std::string> files;    ///< relative paths, sorted
  std::vector<TensorEntry> tensors;  ///< by name
  std::vector<BytesEntry> values;    ///< by name
  bool operator==(const Metadata&) const = default;

  const TensorEntry* tensor(std::string_view name) const;
  const BytesEntry* value(std::string_view name) const;
};

/// Reads the object graph and checks it: names are unique; chunks are inside their tensor, disjoint and complete; every
/// chunk with elements has an item; items of one file do not overlap; paths are inside the directory. \error kCorrupt
/// naming the key; kUnsupported: a tensor's layout is not torch.strided, or items are compressed
Result<Metadata> parse_metadata(const Pickle& pickle);
/// Decodes and parses `bytes`, the content of the `.metadata` file that messages call `what`. \error as Pickle::decode
/// and parse_metadata
Result<Metadata> decode_metadata(std::string what, std::string bytes);

/// Checks that `path` is relative, stays inside the directory, has at most 255 bytes, and has no control character,
/// colon or backslash. \error kCorrupt naming the path
Status check_relative_path(std::string_view path);

/// Checks that the boxes `chunks` are disjoint and fill a tensor of `shape`. The caller has checked that each is inside
/// `shape` and has elements. Takes seconds for a million chunks. `what` names the tensor in messages. \error kCorrupt:
/// an overlap, a lost chunk, or more than 4,096 chunks that no plane separates, as the planes of a grid do
Status check_cover(const std::string& what, const std::vector<std::uint64_t>& shape, const std::vector<Chunk>& chunks);

}  // namespace titan::convert::dcp
