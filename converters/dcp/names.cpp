#include "converters/dcp/names.h"

#include <optional>

#include "converters/name_map.h"

namespace titan::convert::dcp {
namespace {

constexpr int kStrangers = 3;  // the last group: other names

std::string our_name(std::string_view name, bool& newer) {
  const std::optional<MappedName> mapped = torchtitan_names().ours(name);
  if (!mapped) return std::string(name);
  newer = true;
  return mapped->name;
}

}  // namespace

DcpKey parse_key(std::string_view key) {
  DcpKey out;
  const auto cut = [&](std::string_view prefix, DcpKey::Kind kind) {
    if (!key.starts_with(prefix)) return false;
    key.remove_prefix(prefix.size());
    out.kind = kind;
    return true;
  };
  // A key of the optimizer is "<prefix><parameter>.<field>", and parameters have dots in their names.
  if (cut("optimizer.state.", DcpKey::Kind::kSlot) || cut("optimizer.param_groups.", DcpKey::Kind::kGroup)) {
    const std::size_t dot = key.rfind('.');
    out.field = dot == std::string_view::npos ? key : key.substr(dot + 1);
    if (dot != std::string_view::npos) out.parameter = our_name(key.substr(0, dot), out.newer);
    if (out.kind == DcpKey::Kind::kSlot && out.field == "step") out.kind = DcpKey::Kind::kStep;
  } else if (cut("lr_scheduler.", DcpKey::Kind::kScheduler) || cut("train_state.", DcpKey::Kind::kTrainState) ||
             cut("dataloader.", DcpKey::Kind::kDataloader)) {
    out.field = key;
  } else {
    out.parameter = our_name(key, out.newer);
  }
  return out;
}

bool ModelOrder::of_model() const { return group < kStrangers; }

ModelOrder model_order(const std::string& parameter) {
  const std::optional<recipe::NamedPart> part = recipe::part_of(parameter);
  if (!part) return {.group = kStrangers, .name = parameter};
  const recipe::Part which = part->kind->part;
  const int group = part->kind->in_layer() ? 1 : which == recipe::Part::kEmbedding ? 0 : 2;
  const int place = static_cast<int>(which);
  if (!part->kind->of_expert()) return {group, part->layer, place, 0, 0, parameter};
  return {group, part->layer, static_cast<int>(recipe::Part::kExpertGate), part->expert, place, parameter};
}

}  // namespace titan::convert::dcp
