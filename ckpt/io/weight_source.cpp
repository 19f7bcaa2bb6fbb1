#include "ckpt/io/weight_source.h"

#include <algorithm>
#include <cstring>

#include "ckpt/io/reader.h"

namespace titan::ckpt {
namespace {

class CheckpointWeights final : public WeightSource {
 public:
  explicit CheckpointWeights(CheckpointReader reader) : reader_(std::move(reader)) {
    for (const ParameterRecord& record : reader_.manifest().parameters)
      tensors_.push_back({record.meta.name, record.model->dtype, record.meta.shape});
  }

  const std::vector<WeightInfo>& tensors() const override { return tensors_; }
  const std::string& path() const override { return reader_.path(); }
  std::string id() const override { return reader_.manifest().id.hex(); }
  std::uint64_t step() const override { return reader_.manifest().step; }

  Settings model_config() const override {
    Settings rows;
    for (const auto& row : reader_.manifest().config)
      if (row.first.starts_with("model.")) rows.push_back(row);
    return rows;
  }

  Status read(std::size_t index, std::uint64_t first, std::uint64_t count, std::span<std::byte> out) const override {
    const Manifest& manifest = reader_.manifest();
    const LeafGrid grid = manifest.parameters[index].meta.grid(manifest.leaf_elements);
    const std::uint64_t size = dtype_size(tensors_[index].dtype);
    if (count == 0) return ok_status();
    const std::uint64_t from = first / grid.leaf_elements, to = (first + count - 1) / grid.leaf_elements + 1;
    const LeafRange leaves{from, to - from};
    const TensorRef ref{static_cast<std::uint32_t>(index), ""};
    if (grid.begin(from) == first && grid.begin(to) == first + count) return reader_.read(ref, leaves, out);
    // Not on leaf borders: whole leaves are read, since only they can be checked.
    std::vector<std::byte> whole((grid.begin(to) - grid.begin(from)) * size);
    TITAN_RETURN_IF_ERROR(reader_.read(ref, leaves, whole));
    std::memcpy(out.data(), whole.data() + (first - grid.begin(from)) * size, count * size);
    return ok_status();
  }

 private:
  CheckpointReader reader_;
  std::vector<WeightInfo> tensors_;
};

}  // namespace

Result<std::unique_ptr<WeightSource>> open_weights(Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(CheckpointReader reader, CheckpointReader::open(fs, path));
  const auto& parameters = reader.manifest().parameters;
  if (reader.manifest().component(kModel) == nullptr || std::any_of(parameters.begin(), parameters.end(), [](const ParameterRecord& r) { return !r.model; }))
    return incompatible(path + " has no model component: there are no weights to start from");
  return std::unique_ptr<WeightSource>(std::make_unique<CheckpointWeights>(std::move(reader)));
}

}  // namespace titan::ckpt
