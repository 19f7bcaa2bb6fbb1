#pragma once
// Parses the keys of a torchtitan checkpoint.
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace titan::convert::dcp {

/// A parsed key.
struct DcpKey {
  enum class Kind {
    kParameter,   ///< the weights of `parameter`
    kSlot,        ///< optimizer state of `parameter`; `field` = exp_avg, ...
    kStep,        ///< Adam's `step` of `parameter`
    kGroup,       ///< a setting of the param group of `parameter`; `field` = lr, betas, ...
    kScheduler,   ///< LR scheduler; `field` = last_epoch, ...
    kTrainState,  ///< train_state; `field` = step, ...
    kDataloader,  ///< dataloader state; `field` names it
  };
  Kind kind = Kind::kParameter;
  std::string parameter;  ///< Titan's name
  std::string field;
  bool newer = false;  ///< torchtitan 0.3.0's spelling
  bool operator==(const DcpKey&) const = default;
};

/// Parses a flattened key. A key without a known prefix is a parameter, since model keys have no prefix.
DcpKey parse_key(std::string_view key);

/// The position of a parameter in the order of the models that Titan knows. Positions compare as tuples. Names that are
/// not parameters of such a model come last, sorted by name.
struct ModelOrder {
  int group = 0;
  std::uint64_t layer = 0;
  int place = 0;
  std::uint64_t expert = 0;
  int of_expert = 0;  ///< place among an expert's parameters
  std::string name;
  /// Whether this is the position of a parameter of such a model.
  bool of_model() const;
  auto operator<=>(const ModelOrder&) const = default;
};
/// The position of Titan's name `parameter`.
ModelOrder model_order(const std::string& parameter);

}  // namespace titan::convert::dcp
