#pragma once
// The input of a save, as a value.
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

/// Everything that a save writes at one step boundary, except the bytes of tensors, which a TensorSource provides.
/// Equal on every rank, except for `model_files`.
struct Snapshot {
  std::vector<ParameterMeta> parameters;  ///< the whole model in model order, with stages assigned
  Mesh mesh;
  std::vector<std::uint32_t> stage_cuts;
  std::uint64_t leaf_elements = kDefaultLeafElements;
  DType dtype = DType::kF32;  ///< element type of parameters and slots
  Codec codec = Codec::kRaw;  ///< codec of parameters and slots; the id does not depend on it
  bool prove = true;          ///< decode each compressed leaf and compare it before it is written (LeafEncoder::prove)
  ReadBack read_back = ReadBack::kOff;
  std::vector<std::string> slots{kExpAvg, kExpAvgSq};
  std::uint32_t parity = 0;          ///< parity files per group of members; 0: none
  std::uint64_t optimizer_step = 0;  ///< Adam's t, for all parameters
  LrSchedule lr;
  DataPosition data;
  TrainState train;
  Settings config;
  std::string writer;   ///< program, version, git hash
  std::string created;  ///< RFC 3339 UTC
  /// Which rank writes which leaves of `parameters` on `mesh`. A run that saves often computes it once; null: computed
  /// on demand.
  std::shared_ptr<const Ownership> ownership;
  /// For each rank r, the rank that creates the shard files into which r writes: r itself or a lower rank of its host.
  /// Empty: each rank creates its own. Compressed leaves are always in files of their own rank.
  std::vector<std::uint32_t> makers;
  /// Files that came with the model; not part of the id. Only rank 0 has them; null on other ranks, or if there are
  /// none.
  std::shared_ptr<const std::vector<ModelFile>> model_files;
};

/// `snapshot.ownership`, computed if it is null.
std::shared_ptr<const Ownership> ownership_of(const Snapshot& snapshot);
/// Whether any rank writes into files that another rank creates.
bool shares_files(const Snapshot& snapshot);
/// The rank that creates the shard files of `rank`.
std::uint32_t maker_of(const Snapshot& snapshot, std::uint32_t rank);

}  // namespace titan::ckpt
