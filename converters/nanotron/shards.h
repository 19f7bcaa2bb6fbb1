#pragma once
// One nanotron parameter: the files of its shards, and which rows each file holds.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "converters/format.h"
#include "converters/torch_save/pieces.h"

namespace titan::convert::nanotron {

/// A box of a parameter that a shard holds. Its elements, row-major, begin at element `first` of the shard.
struct ShardBox {
  std::vector<std::uint64_t> offsets, sizes;
  std::uint64_t first = 0;
  bool operator==(const ShardBox&) const = default;
};

/// The part of a parameter in one file.
struct Shard {
  std::uint32_t tp = 0;              ///< tensor-parallel rank
  std::vector<std::uint64_t> shape;  ///< of the shard
  Segment stored;                    ///< its elements in the file
  std::vector<ShardBox> boxes;       ///< which elements of the parameter these are
};

/// A parameter with all its shards.
struct Parameter {
  std::string name;  ///< "model.decoder.0.pp_block.attn.qkv_proj.weight"
  DType dtype = DType::kF32;
  std::vector<std::uint64_t> shape;
  std::vector<Shard> shards;  ///< ascending by tp; a single one if the parameter is not sharded
};

/// Parses a shape: "(128, 64)", "(np.int64(128), 64)", "(64,)". `what` names the file. \error kCorrupt
Result<std::vector<std::uint64_t>> parse_shape(const std::string& what, std::string_view text);
/// Parses the positions of the slices of a shard of shape `local` in a parameter of `shape`. Text:
/// "0,10,None|None,None,None#10,20,None|None,None,None;...". \error kCorrupt; kUnsupported: steps, or slices of a shard
/// that are not whole rows \source nanotron/parallel/parameters.py, SlicesPair
Result<std::vector<ShardBox>> parse_slices(const std::string& what, std::string_view text,
                                           const std::vector<std::uint64_t>& local,
                                           const std::vector<std::uint64_t>& shape);

/// Reads the headers of all files of weights below `folder`, in order of names. \error kCorrupt, kUnsupported
/// (experts), kFailed
Result<std::vector<Parameter>> read_parameters(Fs& fs, const std::string& folder, PieceFiles& files);

}  // namespace titan::convert::nanotron
