#pragma once
// Checks that values in a DCP directory, mainly those of the optimizer's param groups, equal the configuration's.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/model/tensor_meta.h"
#include "converters/dcp/reader.h"
#include "recipe/plan/parameter_rules.h"

namespace titan::recipe {
struct Config;
}

namespace titan::convert::dcp {

/// The hint if the weight decay of one of `parameters` differs: most trainers put norms and biases into a separate
/// group without weight decay.
std::string decay_hint(const std::vector<ckpt::ParameterMeta>& parameters);
/// Whether `stored` (an optimizer's value) equals `said` (the configuration's): within a relative error of 1e-12, or
/// because it is `said` rounded to float32.
bool is_number_of(double stored, double said);
/// The note for param groups of torch before 2.7, which do not record whether the optimizer is AdamW or Adam.
inline constexpr const char* kTakenForAdamW =
    "the optimizer's groups do not say whether weight decay is decoupled: taken for AdamW's, not Adam's";
inline constexpr const char* kTensorsAlone = "leave out --config to take the tensors alone";

/// Reads and compares plain values of a DCP directory by name. `source` must outlive it. All functions that read also
/// return the errors of DcpReader::value().
class StoredValues {
 public:
  explicit StoredValues(const DcpReader& source) : source_(source) {}
  const DcpReader& source() const { return source_; }
  /// Returns the value of `name`. \error kIncompatible: there is none
  Result<ItemValue> need(const std::string& name) const;
  /// Returns the value of `name` as a count. \error kIncompatible: there is none; kCorrupt: not a whole number, or
  /// negative
  Result<std::uint64_t> count(const std::string& name) const;
  /// As count(); nullopt if missing.
  Result<std::optional<std::uint64_t>> count_if_there(const std::string& name) const;
  /// Returns the error that the stored value `name` is `found`, but the setting `other` is `expected`: kIncompatible.
  Status differ(const std::string& name, const std::string& found, const std::string& other,
                const std::string& expected) const;
  /// Checks that `value`, the value of `name`, equals `expected`, as is_number_of() compares. `other` names the setting
  /// with the expected value. \error kCorrupt: not a number; kIncompatible (differ())
  Status check_number(const std::string& name, const ItemValue& value, double expected, const std::string& other) const;
  /// Checks that `name` is a list, not empty, in which each entry is `expected` times one of `factors`. \error
  /// kIncompatible, kCorrupt
  Status check_list(const std::string& name, double expected, const std::vector<double>& factors,
                    const std::string& other) const;
  /// Checks that `name` is `expected`, or is absent. \error kIncompatible
  Status check_flag(const std::string& name, bool expected) const;

 private:
  const DcpReader& source_;
};

/// The values that a configuration sets for a parameter group.
struct GroupSettings {
  double beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0;
  double initial_lr = 0, lr = 0;
  std::string lr_name;                 ///< what messages call `lr`
  std::optional<double> lr_of_step{};  ///< accepted in place of `lr`: the last step's rate, which some programs store
  bool initial_needed = true;          ///< false: `initial_lr` is compared only if it is stored
  std::string rule = {};               ///< for messages: the parameter, if optimizer.rules set other values for it
  std::string parameter = {};          ///< the parameter of the group, if the group's name does not contain it
  std::string decay_hint = {};         ///< hint if the weight decay differs
};

/// `group`, adjusted for a parameter whose optimizer.rules give `update`.
GroupSettings settings_of(GroupSettings group, const recipe::UpdateSettings& update, const std::string& parameter);

/// The factors by which optimizer.rules multiply learning rates, 1 first.
std::vector<double> lr_factors(const std::vector<recipe::UpdateSettings>& updates);

/// Compares the values whose names begin with `prefix` ("optimizer.param_groups.norm.weight."). \error kIncompatible:
/// a value differs (the message names both), is missing, or the group is not AdamW's; kCorrupt
Status check_group(const StoredValues& values, const std::string& prefix, const GroupSettings& expected);

/// Checks that the configured optimizer is AdamW, the only one supported here. \error kIncompatible
Status check_optimizer(const recipe::Config& config);
/// Checks that Adam's step count of each parameter (`counts`) is `step`, which messages call `name`. \error
/// kIncompatible naming both counts
Status check_steps(const StoredValues& values, const std::vector<ckpt::ParameterMeta>& parameters,
                   const std::vector<std::uint64_t>& counts, const std::string& name, std::uint64_t step);

/// Whether a field of a parameter group is known here. An unknown field may change the update.
bool is_group_field(std::string_view field);
/// Returns the error that the group field `name` is not known: kIncompatible.
Status unknown_field(const std::string& path, const std::string& name);
/// Returns the error that a param group has no `amsgrad`, so it is not AdamW's (RAdam's groups have none):
/// kIncompatible.
Status no_adamw(const std::string& path);

}  // namespace titan::convert::dcp
