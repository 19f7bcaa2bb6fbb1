#pragma once
// What a save writes, as a value.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ckpt/model/codec.h"
#include "ckpt/model/data_position.h"
#include "ckpt/model/lr.h"
#include "ckpt/model/read_back.h"
#include "ckpt/model/settings.h"
#include "ckpt/model/tensor_meta.h"
#include "ckpt/model/train_state.h"
#include "ckpt/plan/ownership.h"
#include "ckpt/read/model_files.h"

namespace titan::ckpt {

/// Everything that a save writes, as a value at one step boundary, apart from tensor bytes (a TensorSource has those).
/// Equal on every rank, but for the files that came with the model.
struct Snapshot {
  std::vector<ParameterMeta> parameters;  ///< the whole model in model order, stages assigned
  Mesh mesh;
  std::vector<std::uint32_t> stage_cuts;
  std::uint64_t leaf_elements = kDefaultLeafElements;
  DType dtype = DType::kF32;  ///< of parameters and slots
  Codec codec = Codec::kRaw;  ///< of parameters and slots; not in the id
  bool prove = true;          ///< compressed leaves are decoded and compared before they are written
  ReadBack read_back = ReadBack::kOff;
  std::vector<std::string> slots{kExpAvg, kExpAvgSq};
  std::uint32_t parity = 0;  ///< parity files for each group of files
  std::uint64_t optimizer_step = 0;
  LrSchedule lr;
  DataPosition data;
  TrainState train;
  Settings config;
  std::string writer;   ///< program, version, git hash
  std::string created;  ///< RFC 3339 UTC
  /// Who writes which leaves, of `parameters` on `mesh`. A run that saves often works it out once; null: where it is
  /// needed.
  std::shared_ptr<const Ownership> ownership;
  /// By rank: who makes the shard files that the rank writes into, itself or a lower rank of its host; empty: each
  /// rank its own. Compressed leaves always lie in files of their own rank.
  std::vector<std::uint32_t> makers;
  /// What came with the model and is written beside it, not in the id. Rank 0's alone; null: nothing.
  std::shared_ptr<const std::vector<ModelFile>> model_files;
};

/// The snapshot's ownership, worked out where it is null.
std::shared_ptr<const Ownership> ownership_of(const Snapshot& snapshot);
/// Some rank writes into files that another one makes.
bool shares_files(const Snapshot& snapshot);
/// The rank that makes the shard files of `rank`.
std::uint32_t maker_of(const Snapshot& snapshot, std::uint32_t rank);

}  // namespace titan::ckpt
