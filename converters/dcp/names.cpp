#include "converters/dcp/names.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "converters/name_table.h"

namespace titan::convert::dcp {
namespace {

constexpr std::string_view kInLayer[] = {
    "attention.wq.weight",    "attention.wq.bias",      "attention.wk.weight",   "attention.wk.bias",
    "attention.wv.weight",    "attention.wv.bias",      "attention.wo.weight",   "feed_forward.w1.weight",
    "feed_forward.w2.weight", "feed_forward.w3.weight", "attention_norm.weight", "ffn_norm.weight",
};

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

bool ModelOrder::of_model() const { return group < 4 && place < static_cast<int>(std::size(kInLayer)); }

ModelOrder model_order(const std::string& parameter) {
  if (parameter.starts_with("tok_embeddings.")) return {0, 0, 0, parameter};
  if (parameter.starts_with("norm.")) return {2, 0, 0, parameter};
  if (parameter.starts_with("output.")) return {3, 0, 0, parameter};
  constexpr std::string_view kLayers = "layers.";
  if (!parameter.starts_with(kLayers)) return {4, 0, 0, parameter};
  std::uint64_t layer = 0;
  const char* const end = parameter.data() + parameter.size();
  const auto [at, error] = std::from_chars(parameter.data() + kLayers.size(), end, layer);
  if (error != std::errc() || at == end || *at != '.') return {4, 0, 0, parameter};
  const auto* const place = std::find(std::begin(kInLayer), std::end(kInLayer), std::string_view(at + 1, end));
  return {1, layer, static_cast<int>(place - std::begin(kInLayer)), parameter};
}

}  // namespace titan::convert::dcp
