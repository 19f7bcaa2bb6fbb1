#include "converters/fused_experts.h"

#include "recipe/model/family.h"

namespace titan::convert {
namespace {

using recipe::Part;

constexpr std::string_view kGateAndUp = "experts.gate_up_proj", kWeight = ".weight";
constexpr std::uint64_t kMostExperts = 4096;

// The part of a projection's name that follows the expert's number: "gate_proj.weight".
std::string own_name(Part part) {
  const std::string_view pattern = recipe::kind_of(part).huggingface;
  return std::string(pattern.substr(pattern.find('@') + 1));
}

std::string all_downs() {
  std::string down = "experts" + own_name(Part::kExpertDown);
  down.resize(down.size() - kWeight.size());
  return down;
}

std::vector<Part> parts_of(std::string_view name) {
  if (name.ends_with(kGateAndUp)) return {Part::kExpertGate, Part::kExpertUp};
  return name.ends_with(all_downs()) ? std::vector{Part::kExpertDown} : std::vector<Part>{};
}

std::string name_of(std::string_view fused, Part part, std::uint64_t expert) {
  const std::string_view before = fused.substr(0, fused.rfind('.') + 1);
  return std::string(before) + std::to_string(expert) + own_name(part);
}

}  // namespace

std::vector<ExpertPart> expert_parts(std::string_view name, const std::vector<std::uint64_t>& shape) {
  const std::vector<Part> kinds = parts_of(name);
  std::vector<ExpertPart> parts;
  if (kinds.empty() || shape.size() != 3 || shape[0] > kMostExperts || shape[1] % kinds.size() != 0 || shape[2] == 0)
    return parts;
  const std::uint64_t rows = shape[1] / kinds.size();
  for (std::uint64_t expert = 0; expert < shape[0]; ++expert)
    for (const Part part : kinds)
      parts.push_back(
          {name_of(name, part, expert), {rows, shape[0] * shape[1], parts.size() * rows}, {rows, shape[2]}});
  return parts;
}

std::array<std::string, 2> fused_experts(std::uint64_t layer) {
  const std::string down =
      recipe::filled_pattern(recipe::kind_of(Part::kExpertDown).huggingface, {std::to_string(layer), "0"});
  const std::string before = down.substr(0, down.find("experts."));
  return {before + std::string(kGateAndUp), before + all_downs()};
}

std::string first_expert(const std::string& name) {
  const std::vector<Part> kinds = parts_of(name);
  return kinds.empty() ? name : name_of(name, kinds.front(), 0);
}

std::string taken_apart(const std::vector<std::string>& names) {
  return "experts that are one tensor are taken apart, as save_pretrained does it: " + listed(names);
}

}  // namespace titan::convert
