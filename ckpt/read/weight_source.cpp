#include "ckpt/read/weight_source.h"

#include <algorithm>

#include "ckpt/read/range_reader.h"

namespace titan::ckpt {
namespace {

// Makes an id for a checkpoint of another format.
Result<std::string> foreign_id(const CheckpointReader& reader) {
  constexpr std::uint64_t kSampled = 4096;
  const std::vector<ParameterRecord>& parameters = reader.manifest().parameters;
  IdentityEncoder encoder;
  encoder.str("titan.foreign.1");
  encoder.list(parameters.size());
  for (std::uint32_t i = 0; i < parameters.size(); ++i) {
    const ParameterMeta& meta = parameters[i].meta;
    RangeReader elements(reader, {i, ""});
    std::vector<std::byte> bytes(std::min(kSampled, elements.elements()) * elements.element_size());
    TITAN_RETURN_IF_ERROR(elements.read(0, bytes));
    encoder.str(meta.name);
    encoder.str(dtype_name(parameters[i].model->dtype));
    encoder.list(meta.shape.size());
    for (const std::uint64_t dim : meta.shape) encoder.u64(dim);
    encoder.digest(digest_of(bytes));
  }
  return encoder.finish().hex();
}

}  // namespace

WeightSource::WeightSource(CheckpointReader reader, std::string id) : reader_(std::move(reader)), id_(std::move(id)) {
  const std::vector<ParameterRecord>& parameters = reader_.manifest().parameters;
  for (std::uint32_t i = 0; i < parameters.size(); ++i)
    tensors_.push_back(
        {parameters[i].meta.name, parameters[i].model->dtype, parameters[i].meta.shape, reader_.name_in_file(i)});
}

Settings WeightSource::model_config() const {
  Settings rows;
  for (const auto& row : reader_.manifest().config)
    if (row.first.starts_with("model.")) rows.push_back(row);
  return rows;
}

Status WeightSource::read(std::size_t index, std::uint64_t first, std::uint64_t count, std::span<std::byte> out) const {
  RangeReader elements(reader_, {static_cast<std::uint32_t>(index), ""});
  return elements.read(first, out.first(count * elements.element_size()));
}

Result<std::unique_ptr<WeightSource>> weights_of(CheckpointReader reader) {
  const auto& parameters = reader.manifest().parameters;
  if (reader.manifest().component(kModel) == nullptr ||
      std::any_of(parameters.begin(), parameters.end(), [](const ParameterRecord& r) { return !r.model; }))
    return incompatible(reader.path() + " has no model component: there are no weights to start from");
  std::string id = reader.manifest().id.hex();
  if (reader.foreign()) {
    TITAN_ASSIGN_OR_RETURN(id, foreign_id(reader));
  }
  return std::make_unique<WeightSource>(std::move(reader), std::move(id));
}

Result<std::unique_ptr<WeightSource>> open_weights(Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(CheckpointReader reader, CheckpointReader::open(fs, path));
  return weights_of(std::move(reader));
}

}  // namespace titan::ckpt
