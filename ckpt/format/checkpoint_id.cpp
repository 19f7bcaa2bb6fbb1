#include "ckpt/format/checkpoint_id.h"

#include <algorithm>

#include "ckpt/format/member_names.h"

namespace titan::ckpt {
namespace {

void encode_phases(IdentityEncoder& encoder, const LrSchedule& lr) {
  encoder.list(lr.phases.size());
  for (const LrPhase& phase : lr.phases) {
    encoder.u64(phase.first);
    encoder.str(phase_kind_name(phase.kind));
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
  // If the field is absent, nothing is encoded, so the id is that of versions without the field.
  if (!data.excluded.empty()) {
    encoder.list(data.excluded.size());
    for (const SampleRange& range : data.excluded) {
      encoder.u64(range.first);
      encoder.u64(range.count);
    }
  }
  if (data.sets.empty()) return;
  encoder.list(data.sets.size());
  for (const MixedSet& set : data.sets) {
    encoder.str(set.name);
    for (const std::uint64_t value : {set.share, set.samples, set.drawn, set.most}) encoder.u64(value);
    encoder.boolean(set.stops);
    encoder.u64(set.files);
  }
  if (std::all_of(data.sets.begin(), data.sets.end(), [](const MixedSet& set) { return set.uncounted == 0; })) return;
  encoder.list(data.sets.size());
  for (const MixedSet& set : data.sets) encoder.u64(set.uncounted);
}

}  // namespace

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

Digest checkpoint_id(const Manifest& manifest, const LrSchedule& lr, const DataPosition& data, std::uint64_t tokens) {
  IdentityEncoder encoder;
  encoder.str("titan.checkpoint.1");
  for (const char* name : {kModel, kOptimizer}) {
    const ComponentEntry* component = manifest.component(name);
    if (component)
      encoder.digest(component->digest);
    else
      encoder.absent();
  }
  if (manifest.component(kLrScheduler))
    encode_phases(encoder, lr);
  else
    encoder.absent();
  if (manifest.component(kDataloader))
    encode_position(encoder, data);
  else
    encoder.absent();
  encoder.u64(manifest.step);
  if (manifest.component(kTrainState))
    encoder.u64(tokens);
  else
    encoder.absent();
  return encoder.finish();
}

}  // namespace titan::ckpt
