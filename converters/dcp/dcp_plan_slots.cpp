// The optimizer's state in the plan of a DCP directory.
#include <algorithm>
#include <cmath>
#include <set>

#include "converters/dcp/dcp_planner.h"
#include "converters/dcp/hf_model.h"

namespace titan::convert::dcp {

void Planner::drop_slots() {
  std::set<std::size_t> sources;  // a tensor may have the state of several experts
  for (const auto& [name, own] : slots_)
    for (const auto& [slot, one] : own) sources.insert(one.source);
  for (const auto& [name, source] : steps_) sources.insert(source);
  for (const std::size_t source : sources) leave_out(source);
  slots_.clear();
  steps_.clear();
}

// The head size for splitting fused moments: from a config.json or the given configuration. 0 if there is none, or if
// it does not fit the tensors.
std::uint64_t Planner::said_head_dim() const {
  recipe::Shapes shapes;
  for (const auto& [name, slot] : parameters_) shapes[name] = shape_of(slot);
  const Result<HfModel> said = find_hf_model(source_.reader().fs(), source_.path(), shapes, options_);
  const auto keys = shapes.find(recipe::name_of(recipe::Part::kKey));
  const bool fits = said.ok() && said->head_dim != 0 && keys != shapes.end() && !keys->second.empty() &&
                    keys->second[0] % said->head_dim == 0;
  return fits ? said->head_dim : 0;
}

Status Planner::split_fused() {
  std::vector<std::string> fused;
  for (const auto& [name, own] : slots_)
    if (is_fused_qkv(name)) fused.push_back(name);
  if (fused.empty()) return {};
  const std::uint64_t head_dim = layout_.rotate_half ? head_dim_
                                 : model_            ? static_cast<std::uint64_t>(model_->head_dim)
                                                     : said_head_dim();
  if (head_dim == 0 && options_.look && options_.whole_moments) {
    for (const std::string& name : fused) plan_.parameters.push_back({name, shape_of(slots_.at(name).begin()->second)});
    return {};
  }
  if (head_dim == 0 && options_.look) {
    drop_slots();
    plan_.notes.push_back("the optimizer's state is not shown: queries, keys and values are one tensor there");
    return {};
  }
  if (head_dim == 0)
    return ckpt::incompatible(source_.path() + ": the optimizer's state of queries, keys and values is one tensor, '" +
                              fused.front() + "': the number of heads says which rows are whose")
        .with_hint("give --config FILE.toml with model.n_heads, or take the model alone: --skip 'optimizer.*'");
  for (const std::string& name : fused) {
    const auto rows = [&](std::size_t part) -> std::uint64_t {
      const auto at = parameters_.find(fused_parts(name, 1, 0)[part].parameter);
      return at == parameters_.end() ? 0 : source_.tensors()[at->second.source].shape.at(0);
    };
    const std::uint64_t group = rows(1) == 0 ? 1 : rows(0) / rows(1);
    for (const FusedPart& part : fused_parts(name, group, head_dim)) {
      for (const auto& [slot, one] : slots_.at(name)) slots_[part.parameter][slot] = {one.source, part.blocks};
      if (const auto step = steps_.find(name); step != steps_.end()) steps_[part.parameter] = step->second;
    }
    slots_.erase(name);
    steps_.erase(name);
  }
  return {};
}

Status Planner::take_slots(std::vector<std::string>& missing) {
  if (slots_.empty() && (steps_.empty() || skips_slots_)) {
    for (const auto& [name, source] : steps_) add_report(source, Fate::kSkipped);  // their moments are skipped
    drop_slots();
    return {};
  }
  for (std::uint32_t p = 0; p < plan_.parameters.size(); ++p) {
    const ckpt::ParameterMeta& parameter = plan_.parameters[p];
    for (const char* slot : {ckpt::kExpAvg, ckpt::kExpAvgSq}) {
      const auto& own = slots_[parameter.name];
      const auto at = own.find(slot);
      if (at == own.end()) {
        missing.push_back("optimizer.state." + parameter.name + "." + slot);
        continue;
      }
      const std::size_t source = at->second.source;
      const std::string& stored = source_.tensors()[source].name;
      if (shape_of(at->second) != parameter.shape)
        return ckpt::incompatible(source_.path() + ": '" + stored +
                                  "' has another shape than its parameter: it is the state of another model")
            .with_hint("take the model alone: --skip 'optimizer.*'");
      const bool fused = at->second.blocks.rows != 0;
      plan_.tensors.push_back({{p, slot},
                               source,
                               head_dim_of(fused ? parameters_.at(parameter.name).source : source),
                               false,
                               at->second.blocks});
      add_report(source, Fate::kWritten, parameter.name + "." + slot);
      plan_.report.back().shape = parameter.shape;
      if (slot == std::string_view(ckpt::kExpAvg)) groups_.emplace_back(split_state_key(stored)->parameter);
    }
    slots_.erase(parameter.name);
    const auto step = steps_.find(parameter.name);
    if (step == steps_.end()) {
      missing.push_back("optimizer.state." + parameter.name + ".step");
      plan_.optimizer_steps.push_back(0);
      continue;
    }
    const std::string& name = source_.tensors()[step->second].name;
    TITAN_ASSIGN_OR_RETURN(const ItemValue value, source_.reader().value(name));
    if (!(value.number() >= 0) || value.number() != std::floor(value.number()) || value.number() > 0x1p53)
      return ckpt::corrupt(source_.path() + ": '" + name + "' is " + value.to_string());
    plan_.optimizer_steps.push_back(static_cast<std::uint64_t>(value.number()));
    add_report(step->second, Fate::kWritten, parameter.name + ".step");
    steps_.erase(step);
  }
  for (const auto& [name, own] : slots_)
    for (const auto& [slot, one] : own) left_over_.push_back(source_.tensors()[one.source].name);
  for (const auto& [name, source] : steps_) left_over_.push_back(source_.tensors()[source].name);
  return {};
}

Status Planner::settle(const std::vector<std::string>& missing) {
  if (options_.look) {
    plan_.left_out.insert(plan_.left_out.end(), left_over_.begin(), left_over_.end());
    return {};
  }
  std::ranges::sort(left_over_);
  left_over_.erase(std::unique(left_over_.begin(), left_over_.end()), left_over_.end());
  if (!left_over_.empty()) {
    return ckpt::incompatible(source_.path() + ": a Titan checkpoint has no place for " + listed(left_over_))
        .with_hint("leave them out with " + skip_flags(left_over_, tensor_names()));
  }
  if (missing.empty()) return {};
  const bool head = std::ranges::all_of(
      missing, [](const std::string& name) { return name.find(recipe::kHeadName) != std::string::npos; });
  return ckpt::incompatible(source_.path() + ": optimizer state is missing: " + listed(missing))
      .with_hint(head ? "if the head is the embedding: --set model.tied_embeddings=true"
                      : "take the model alone: --skip 'optimizer.*'");
}

}  // namespace titan::convert::dcp
