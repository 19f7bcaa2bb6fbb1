#include "ckpt/format/manifest.h"

#include <algorithm>
#include <utility>

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

StoredTensor* Manifest::stored(const TensorRef& ref) {
  return const_cast<StoredTensor*>(std::as_const(*this).stored(ref));
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
    return std::ranges::find(tensor.pieces, codec, &Piece::codec) != tensor.pieces.end();
  };
  return std::any_of(parameters.begin(), parameters.end(), [&](const ParameterRecord& record) {
    return (record.model && stored_so(*record.model)) ||
           std::ranges::any_of(record.slots, stored_so, &SlotTensor::tensor);
  });
}

std::uint32_t Manifest::lowest_minor() const {
  if (mixture) return kMixtureMinor;
  if (excluded) return kExcludedMinor;
  return uses(Codec::kZstd) ? kZstdMinor : 0;
}

}  // namespace titan::ckpt
