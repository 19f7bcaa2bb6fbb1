#include "ckpt/io/weight_source.h"

#include <algorithm>
#include <cstring>

namespace titan::ckpt {
namespace {

class CheckpointWeights final : public WeightSource {
 public:
  explicit CheckpointWeights(CheckpointReader reader) : reader_(std::move(reader)) {
    for (const ParameterRecord& record : reader_.manifest().parameters)
      tensors_.push_back({record.meta.name, record.model->dtype, record.meta.shape});
    id_ = reader_.manifest().id.hex();
  }

  /// Gives a foreign checkpoint an id.
  Status identify() {
    constexpr std::uint64_t kSampled = 4096;
    IdentityEncoder encoder;
    encoder.str("titan.foreign.1");
    encoder.list(tensors_.size());
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const std::uint64_t count = std::min(kSampled, element_count(tensors_[i].shape));
      std::vector<std::byte> bytes(count * dtype_size(tensors_[i].dtype));
      TITAN_RETURN_IF_ERROR(read(i, 0, count, bytes));
      encoder.str(tensors_[i].name);
      encoder.str(dtype_name(tensors_[i].dtype));
      encoder.list(tensors_[i].shape.size());
      for (const std::uint64_t dim : tensors_[i].shape) encoder.u64(dim);
      encoder.digest(digest_of(bytes));
    }
    id_ = encoder.finish().hex();
    return ok_status();
  }

  const std::vector<WeightInfo>& tensors() const override { return tensors_; }
  const std::string& path() const override { return reader_.path(); }
  std::string id() const override { return id_; }
  std::uint64_t step() const override { return reader_.manifest().step; }

  const Manifest* manifest() const override { return reader_.foreign() ? nullptr : &reader_.manifest(); }

  std::vector<ModelFilePlace> model_files() const override { return reader_.model_files(); }
  std::vector<std::string> model_file_notes() const override { return reader_.model_file_notes(); }

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
  std::string id_;
};

}  // namespace

Result<std::unique_ptr<WeightSource>> weights_of(CheckpointReader reader) {
  const auto& parameters = reader.manifest().parameters;
  if (reader.manifest().component(kModel) == nullptr ||
      std::any_of(parameters.begin(), parameters.end(), [](const ParameterRecord& r) { return !r.model; }))
    return incompatible(reader.path() + " has no model component: there are no weights to start from");
  const bool foreign = reader.foreign();
  auto weights = std::make_unique<CheckpointWeights>(std::move(reader));
  if (foreign) TITAN_RETURN_IF_ERROR(weights->identify());
  return std::unique_ptr<WeightSource>(std::move(weights));
}

Result<std::unique_ptr<WeightSource>> open_weights(Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(CheckpointReader reader, CheckpointReader::open(fs, path));
  return weights_of(std::move(reader));
}

}  // namespace titan::ckpt
