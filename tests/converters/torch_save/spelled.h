#pragma once
// Pickled torch.save tensors for tests: plain ones, and the shards of DTensors and ShardedTensors that ranks save.
#include <optional>
#include <string>
#include <vector>

#include "converters/pickle/pickle_writer.h"
#include "tests/converters/torch_save/torch_zip.h"

namespace titan::convert::testing {

using Dims = std::vector<std::uint64_t>;

/// A pickle, and the storages that it names.
struct Spelled {
  PickleWriter out{2};
  std::vector<std::string> storages{};

  std::string file() && { return torch_file(std::move(out).finish(), storages); }
};

inline void put_tensor(Spelled& to, const Dims& shape, const std::vector<float>& values) {
  PickleWriter& out = to.out;
  out.global("torch._utils", "_rebuild_tensor_v2");
  out.mark();
  out.mark();
  out.text("storage");
  out.global("torch", "FloatStorage");
  out.text(std::to_string(to.storages.size()));
  out.text("cpu");
  out.integer(static_cast<std::int64_t>(values.size()));
  out.tuple(5);
  out.persistent();
  out.integer(0);
  out.integers(shape);
  Dims strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  out.integers(strides);
  out.boolean(false);
  out.none();
  out.tuple(6);
  out.reduce();
  to.storages.push_back(floats(values));
}

/// The tensor that a rank has of a larger one.
struct RankTensor {
  Dims whole, part;
  std::vector<float> values;
  std::vector<std::string> placements{"Shard"};  ///< of a DTensor, over each dimension of the mesh
  std::int64_t dim = 0;                          ///< of Shard
  std::optional<Dims> offsets{};                 ///< of a ShardedTensor; without them it is a DTensor
  std::string type = "DTensor";
  Dims coordinates{};  ///< of a DTensor's rank in its mesh; none: the mesh is not there
};

inline void put_rank_tensor(Spelled& to, const RankTensor& tensor) {
  PickleWriter& out = to.out;
  out.global("torch._tensor", "_rebuild_from_type_v2");
  out.mark();
  out.global("torch._utils", "_rebuild_wrapper_subclass");
  out.global("torch.distributed.tensor", tensor.offsets ? "ShardedTensor" : tensor.type);
  out.mark();
  out.none();  // the class once more
  out.global("torch", "float32");
  out.size(tensor.whole);
  out.integer(0);
  out.tuple(4);
  if (tensor.offsets) {
    out.mark();
    out.empty_list();
    out.mark();
    out.global("torch.distributed._shard.sharded_tensor.shard", "Shard");
    out.new_object();
    out.none();
    out.empty_dict();
    out.mark();
    out.text("tensor");
    put_tensor(to, tensor.part, tensor.values);
    out.text("metadata");
    out.global("torch.distributed._shard.metadata", "ShardMetadata");
    out.new_object();
    out.none();
    out.empty_dict();
    out.mark();
    out.text("shard_offsets");
    out.integers(*tensor.offsets);
    out.set_items();
    out.tuple(2);
    out.build();
    out.set_items();
    out.tuple(2);
    out.build();
    out.appends();
    for (int i = 0; i < 4; ++i) out.none();
    out.tuple(5);
  } else {
    out.none();
    out.empty_dict();
    out.mark();
    out.text("_local_tensor");
    put_tensor(to, tensor.part, tensor.values);
    out.text("_spec");
    out.global("torch.distributed.tensor._dtensor_spec", "DTensorSpec");
    out.new_object();
    out.empty_dict();
    out.mark();
    if (!tensor.coordinates.empty()) {
      out.text("mesh");
      out.global("torch.distributed.device_mesh", "DeviceMesh");
      out.new_object();
      out.empty_dict();
      out.mark();
      out.text("_coordinate_on_dim");
      out.integers(tensor.coordinates);
      out.set_items();
      out.build();
    }
    out.text("placements");
    if (tensor.placements.size() > 3) out.mark();
    for (const std::string& placement : tensor.placements) {
      out.global("torch.distributed.tensor.placement_types", placement);
      out.new_object();
      out.empty_dict();
      out.mark();
      out.text("dim");
      out.integer(tensor.dim);
      out.set_items();
      out.build();
    }
    out.tuple(tensor.placements.size());
    out.set_items();
    out.build();
    out.set_items();
    out.tuple(2);
  }
  out.tuple(4);
  out.reduce();
}

/// A state dict of such tensors.
inline std::string state_file(const std::vector<std::pair<std::string, RankTensor>>& tensors) {
  Spelled to;
  to.out.empty_dict();
  to.out.mark();
  for (const auto& [name, tensor] : tensors) {
    to.out.text(name);
    put_rank_tensor(to, tensor);
  }
  to.out.set_items();
  return std::move(to).file();
}

}  // namespace titan::convert::testing
