#include "converters/model_alone.h"

#include "converters/model_agreement.h"

namespace titan::convert {

Result<Settings> model_rows(const CheckpointReader& source, const std::optional<Settings>& given, bool untie) {
  const Settings& own = source.manifest().config;
  if (!given || source.foreign()) return own;
  return agreed_rows(source.path(), own, *given, {.untie = untie});
}

bool writes_weights(const ckpt::ParameterRecord& record, SkipRules& skip, std::vector<TensorReport>& report) {
  const std::string& name = record.meta.name;
  for (const ckpt::SlotTensor& slot : record.slots) {
    const std::string slot_name = name + "." + slot.name;
    const Fate fate = skip.takes({slot_name, "optimizer.state." + slot_name}) ? Fate::kSkipped : Fate::kDropped;
    report.push_back(uncast(slot_name, fate, slot.tensor.dtype, record.meta.shape));
  }
  if (!record.model) return false;
  if (!skip.takes(name)) return true;
  report.push_back(uncast(name, Fate::kSkipped, record.model->dtype, record.meta.shape));
  return false;
}

}  // namespace titan::convert
