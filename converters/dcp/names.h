#pragma once
// Parses the keys of a torchtitan checkpoint.
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace titan::convert::dcp {

struct DcpKey {
  enum class Kind {
    kParameter,   ///< `parameter`
    kSlot,        ///< `parameter`, `field` = exp_avg, ...
    kStep,        ///< of `parameter`
    kGroup,       ///< `parameter`, `field` = lr, betas, ...
    kScheduler,   ///< `field` = last_epoch, ...
    kTrainState,  ///< `field` = step, ...
    kDataloader,  ///< `field`
  };
  Kind kind = Kind::kParameter;
  std::string parameter;  ///< Titan's name
  std::string field;
  bool newer = false;  ///< torchtitan 0.3.0's spelling
  bool operator==(const DcpKey&) const = default;
};

/// Parses a flattened key. A key without a known prefix is a parameter, since model keys have no prefix.
DcpKey parse_key(std::string_view key);

/// The position of a parameter in the order of a Llama model; compare as tuples. Other names come last, sorted by name.
struct ModelOrder {
  int group = 0;
  std::uint64_t layer = 0;
  int place = 0;
  std::uint64_t expert = 0;
  int of_expert = 0;  ///< place among an expert's parameters
  std::string name;
  /// Whether a Llama model has a parameter of this name.
  bool of_model() const;
  auto operator<=>(const ModelOrder&) const = default;
};
ModelOrder model_order(const std::string& parameter);

}  // namespace titan::convert::dcp
