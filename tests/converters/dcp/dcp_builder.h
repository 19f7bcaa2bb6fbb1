#pragma once
// DCP directories for tests with any sharding, and `.metadata` pickles with one error.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "converters/pickle/item_writer.h"

namespace titan::convert::dcp::testing {

enum class Properties { kFive, kSix, kDict, kOldModule, kEnumTrap, kFour };

struct BuiltChunk {
  std::vector<std::int64_t> offsets, sizes;
  bool stored = true;                              ///< has an entry in storage_data
  std::optional<std::vector<std::int64_t>> index;  ///< offset of its MetadataIndex, where it differs from `offsets`
  std::string file = "__0_0.distcp";
  std::int64_t at = 0, length = 0;
};
struct BuiltTensor {
  std::string name, dtype = "float32";
  std::vector<std::int64_t> shape;
  std::vector<BuiltChunk> chunks;
  std::string layout = "torch.strided";
};
struct BuiltValue {
  std::string name;
  std::string file = "__0_0.distcp";
  std::int64_t at = 0, length = 0;
  bool stored = true;
  bool twice = false;  ///< two entries in storage_data
};
struct BuiltMetadata {
  std::vector<BuiltTensor> tensors;
  std::vector<BuiltValue> values;
  Properties properties = Properties::kFive;
  bool old = false;            ///< no storage_meta, no version
  bool path_id = false;        ///< checkpoint_id is a pathlib path
  bool extra_unknown = false;  ///< Megatron's mcore_data, with a class that nobody knows
  std::string transform;       ///< in every _StorageInfo
};

std::string build_metadata(const BuiltMetadata& metadata);

/// Cuts of one dimension: [0, cuts[0], cuts[1], ..., extent].
using Cuts = std::vector<std::vector<std::uint64_t>>;

/// Writes float32 tensors, tensor i element j = 1000 i + j, cut by `cuts` into one file per chunk number, and values,
/// into `folder`.
struct ShardedTensor {
  std::string name;
  std::vector<std::uint64_t> shape;
  Cuts cuts;
  std::optional<float> all{};  ///< every element, in place of the usual ones
  bool half = false;           ///< bfloat16: the upper halves
};
ckpt::Status write_sharded(ckpt::Fs& fs, const std::string& folder, const std::vector<ShardedTensor>& tensors,
                           const std::vector<std::pair<std::string, ItemValue>>& values);

}  // namespace titan::convert::dcp::testing
