#include "ckpt/format/manifest.h"

#include <algorithm>

#include "ckpt/format/layout.h"
#include "ckpt/format/state_codec.h"

namespace titan::ckpt {

const ComponentEntry* Manifest::component(std::string_view name) const {
  for (const ComponentEntry& entry : components) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

ParameterIndex::ParameterIndex(const Manifest& manifest) {
  by_name_.reserve(manifest.parameters.size());
  for (std::uint32_t i = 0; i < manifest.parameters.size(); ++i) by_name_.emplace(manifest.parameters[i].meta.name, i);
}

std::optional<std::uint32_t> ParameterIndex::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

const StoredTensor* Manifest::stored(const TensorRef& ref) const {
  if (ref.index >= parameters.size()) return nullptr;
  const ParameterRecord& record = parameters[ref.index];
  if (ref.slot.empty()) return record.model ? &*record.model : nullptr;
  for (const SlotTensor& slot : record.slots) {
    if (slot.name == ref.slot) return &slot.tensor;
  }
  return nullptr;
}

std::string Manifest::stored_name(const TensorRef& ref) const {
  std::string name = ref.index < parameters.size() ? parameters[ref.index].meta.name : "#" + std::to_string(ref.index);
  return ref.slot.empty() ? name : name + "." + ref.slot;
}

bool Manifest::uses(Codec codec) const {
  const auto stored_so = [&](const StoredTensor& tensor) {
    return std::any_of(tensor.pieces.begin(), tensor.pieces.end(),
                       [&](const Piece& piece) { return piece.codec == codec; });
  };
  return std::any_of(parameters.begin(), parameters.end(), [&](const ParameterRecord& record) {
    return (record.model && stored_so(*record.model)) ||
           std::any_of(record.slots.begin(), record.slots.end(),
                       [&](const SlotTensor& slot) { return stored_so(slot.tensor); });
  });
}

Digest tensor_digest(const std::vector<Digest>& leaves) {
  static_assert(sizeof(Digest) == 16, "digests are hashed as one run of bytes");
  return digest_of(std::as_bytes(std::span(leaves)));
}

Digest component_digest(const Manifest& manifest, std::string_view component) {
  struct Entry {
    std::string name;
    const ParameterRecord* record;
    const StoredTensor* tensor;
  };
  const bool optimizer = component == kOptimizer;
  std::vector<Entry> entries;
  for (const ParameterRecord& record : manifest.parameters) {
    if (!optimizer && record.model) entries.push_back({record.meta.name, &record, &*record.model});
    if (!optimizer) continue;
    for (const SlotTensor& slot : record.slots)
      entries.push_back({record.meta.name + "." + slot.name, &record, &slot.tensor});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });

  IdentityEncoder encoder;
  encoder.str("titan.component.1");
  encoder.str(component);
  encoder.list(entries.size());
  for (const Entry& entry : entries) {
    encoder.str(entry.name);
    encoder.str(dtype_name(entry.tensor->dtype));
    encoder.list(entry.record->meta.shape.size());
    for (const std::uint64_t extent : entry.record->meta.shape) encoder.u64(extent);
    encoder.digest(entry.tensor->digest);
    if (optimizer) encoder.u64(entry.record->optimizer_step);
  }
  return encoder.finish();
}

namespace {

void encode_phases(IdentityEncoder& encoder, const LrSchedule& lr) {
  encoder.list(lr.phases.size());
  for (const LrPhase& phase : lr.phases) {
    encoder.u64(phase.first);
    encoder.str(phase_kind_text(phase.kind));
    for (const double value : {phase.start, phase.end, phase.origin, phase.length}) encoder.f64(value);
  }
}

void encode_position(IdentityEncoder& encoder, const DataPosition& data) {
  for (const std::uint64_t value : {data.samples, data.epoch_base, data.first_epoch, data.seed}) encoder.u64(value);
  encoder.boolean(data.shuffle);
  for (const std::uint64_t value : {data.seq_len, data.sample_stride, data.samples_per_epoch}) encoder.u64(value);
  encoder.str(data.kind);
  encoder.str(data.tokenizer);
  encoder.list(data.files.size());
  for (const DataFile& file : data.files) {
    encoder.str(file.name);
    encoder.u64(file.bytes);
    encoder.digest(file.blocks);
  }
}

}  // namespace

Digest checkpoint_id(const Manifest& manifest, const LrSchedule& lr, const DataPosition& data, std::uint64_t tokens) {
  IdentityEncoder encoder;
  encoder.str("titan.checkpoint.1");
  for (const char* name : {kModel, kOptimizer}) {
    const ComponentEntry* component = manifest.component(name);
    component ? encoder.digest(component->digest) : encoder.absent();
  }
  manifest.component(kLrScheduler) ? encode_phases(encoder, lr) : encoder.absent();
  manifest.component(kDataloader) ? encode_position(encoder, data) : encoder.absent();
  encoder.u64(manifest.step);
  manifest.component(kTrainState) ? encoder.u64(tokens) : encoder.absent();
  return encoder.finish();
}

}  // namespace titan::ckpt
