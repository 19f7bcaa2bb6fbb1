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
/// Parses `text`, the slices of a shard of shape `local` and their positions in a parameter of `shape`. Example:
/// "0,10,None|None,None,None#10,20,None|None,None,None;...": rows 0 to 9 of the shard are rows 10 to 19 of the
/// parameter.
/// \error kCorrupt: another form, steps other than 1, or slices that do not fit; kUnsupported: slices of a shard that
/// are not whole rows
/// \source nanotron/parallel/parameters.py, SlicesPair
Result<std::vector<ShardBox>> parse_slices(const std::string& what, std::string_view text,
                                           const std::vector<std::uint64_t>& local,
                                           const std::vector<std::uint64_t>& shape);

/// Reads the headers of all files of weights below `folder`. Returns the parameters in order of their names. \error
/// kCorrupt, kUnsupported (experts, more than 262,144 files, or nanotron before version 1.2), kFailed
Result<std::vector<Parameter>> read_parameters(Fs& fs, const std::string& folder, PieceFiles& files);

}  // namespace titan::convert::nanotron
