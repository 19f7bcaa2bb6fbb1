#include "ckpt/read/ema.h"

#include <algorithm>

namespace titan::ckpt {

bool has_ema(const Manifest& manifest) {
  const auto has = [](const ParameterRecord& record) {
    return std::ranges::find(record.slots, kEma, &SlotTensor::name) != record.slots.end();
  };
  return !manifest.parameters.empty() && std::all_of(manifest.parameters.begin(), manifest.parameters.end(), has);
}

Result<CheckpointReader> averages_of(Fs& fs, CheckpointReader reader) {
  const std::string path = reader.path();
  if (reader.foreign() || !has_ema(reader.manifest())) {
    const bool model_alone = !reader.foreign() && reader.manifest().component(kOptimizer) == nullptr;
    return incompatible(path + " has no average of the parameters")
        .with_hint(model_alone
                       ? "only its model is left, and the average goes with the optimizer state: take a full step"
                       : "a run keeps one with training.ema = 0.999");
  }
  Manifest manifest = std::move(reader).take_manifest();
  for (ParameterRecord& record : manifest.parameters) {
    for (SlotTensor& slot : record.slots)
      if (slot.name == kEma) record.model = std::move(slot.tensor);
    record.slots.clear();
    record.optimizer_step = 0;
  }
  manifest.components.clear();
  ManifestBuilder builder(manifest);
  builder.sum_up(kModel);
  builder.seal({});
  return CheckpointReader::known(fs, path, std::move(manifest));
}

}  // namespace titan::ckpt
