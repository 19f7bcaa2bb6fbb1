#pragma once
// Values of a DCP directory that must be what a configuration says: above all those of the optimizer's groups.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/model/tensor_meta.h"
#include "converters/dcp/reader.h"
#include "recipe/keys/config.h"
#include "recipe/plan/parameter_rules.h"

namespace titan::convert::dcp {

/// Most trainers leave norms and biases undecayed, in a group of their own. What to say where the decay of one of
/// `parameters` is another.
std::string decay_hint(const std::vector<ckpt::ParameterMeta>& parameters);
/// Whether a number of an optimizer is that of a configuration, to 1e-12 relative or as float32 has it.
bool is_number_of(double stored, double said);
inline constexpr const char* kTensorsAlone = "leave out --config to take the tensors alone";

class StoredValues {
 public:
  explicit StoredValues(const DcpReader& source) : source_(source) {}
  const DcpReader& source() const { return source_; }
  /// \error kIncompatible: there is none
  Result<Value> need(const std::string& name) const;
  /// \error kIncompatible: there is none; kCorrupt: it is no count
  Result<std::uint64_t> count(const std::string& name) const;
  /// As count; nothing where there is none.
  Result<std::optional<std::uint64_t>> count_if_there(const std::string& name) const;
  /// kIncompatible: `name` is `found`, but `other` is `expected`.
  Status differ(const std::string& name, const std::string& found, const std::string& other,
                const std::string& expected) const;
  /// Compares to 1e-12 relative. \error kCorrupt: no number; as differ
  Status check_number(const std::string& name, const Value& value, double expected, const std::string& other) const;
  /// Each entry is `expected` times one of `factors`.
  Status check_list(const std::string& name, double expected, const std::vector<double>& factors,
                    const std::string& other) const;
  Status check_flag(const std::string& name, bool expected) const;

 private:
  const DcpReader& source_;
};

/// What a configuration says of a group of parameters.
struct GroupSettings {
  recipe::Config::Optimizer optimizer;
  double initial_lr = 0, lr = 0;
  std::string lr_name;                 ///< what `lr` is, in a message
  std::optional<double> lr_of_step{};  ///< also right: of a program that sets the rate at the beginning of a step
  bool initial_needed = true;          ///< else only where it is there
  std::string rule = {};               ///< the parameter for which optimizer.rules say something else
  std::string parameter = {};          ///< of which this is, where the group's name does not say it
  std::string decay_hint = {};         ///< where the weight decay differs
};

/// The same for a parameter that is updated by `update`.
GroupSettings settings_of(GroupSettings group, const recipe::UpdateSettings& update, const std::string& parameter);

/// What optimizer.rules of a configuration multiply learning rates by, 1 first.
std::vector<double> lr_factors(const std::vector<recipe::UpdateSettings>& updates);

/// Compares the fields behind `prefix` ("optimizer.param_groups.norm.weight."). \error kIncompatible naming both
/// values; kCorrupt
Status check_group(const StoredValues& values, const std::string& prefix, const GroupSettings& expected);

/// AdamW is the only optimizer here. \error kIncompatible
Status check_optimizer(const recipe::Config& config);
/// Compares Adam's count of each parameter with `step`, which is `name`'s. \error kIncompatible naming both
Status check_steps(const StoredValues& values, const std::vector<ckpt::ParameterMeta>& parameters,
                   const std::vector<std::uint64_t>& counts, const std::string& name, std::uint64_t step);

/// Whether a field of a group is known here. An unknown one may change the update.
bool is_group_field(std::string_view field);
Status unknown_field(const std::string& path, const std::string& name);

}  // namespace titan::convert::dcp
