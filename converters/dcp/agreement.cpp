#include "converters/dcp/agreement.h"

#include "ckpt/plan/lr_settings.h"
#include "converters/dcp/torchtitan.h"

namespace titan::convert::dcp {
namespace {

// The key under which `rows` say the setting `key`; empty when they do not. Two settings have two names.
std::string said_as(const ckpt::Settings& rows, const std::string& key) {
  std::vector<std::string> names{key};
  if (key == "lr_scheduler.total_steps") names.emplace_back("training.steps");
  if (key == "lr_scheduler.min_lr_factor") names.emplace_back("lr_scheduler.lr_min");
  for (const std::string& name : names)
    if (ckpt::setting(rows, name) != ckpt::kNotSet) return name;
  return "";
}

}  // namespace

ckpt::Status check_agreement(const std::string& what, const ckpt::Settings& own, const ckpt::LrSettings& curve, const ckpt::Settings& given, bool with_curve) {
  TITAN_ASSIGN_OR_RETURN(TorchtitanConfig mine, read_torchtitan(own));
  TITAN_ASSIGN_OR_RETURN(const TorchtitanConfig theirs, read_torchtitan(given));
  mine.lr = curve;
  const ckpt::Settings here = curve_rows(mine, 1), there = curve_rows(theirs, 1);
  std::string differing;
  bool by_curve = false;
  for (const auto& [key, text] : here) {
    const bool of_curve = ckpt::is_lr_key(key);
    if (of_curve ? !with_curve : !key.starts_with("optimizer.") || ckpt::setting(own, key) == ckpt::kNotSet) continue;
    const std::string name = said_as(given, key), other = ckpt::setting(there, key);
    if (name.empty() || other == text) continue;
    differing += (differing.empty() ? "" : "; ") + name + " is " + text + ", the configuration says " + other;
    by_curve = by_curve || of_curve;
  }
  if (differing.empty()) return {};
  return ckpt::incompatible(what + ": " + differing)
      .with_hint(by_curve ? "--lr-from-config takes the learning rate's curve of that file from the next step on" : "give the configuration that this run was trained with");
}

}  // namespace titan::convert::dcp
