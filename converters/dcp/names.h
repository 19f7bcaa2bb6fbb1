#pragma once
// What the keys of a torchtitan checkpoint stand for.
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
  std::string parameter;  ///< our name
  std::string field;
  bool newer = false;  ///< torchtitan 0.3.0's spelling
  bool operator==(const DcpKey&) const = default;
};

/// Takes a flattened key apart. Model keys have no prefix, so whatever has none is a parameter.
DcpKey parse_key(std::string_view key);

/// Where a parameter stands in a Llama's order: compare as tuples. Names that are none of its come last, by name.
struct ModelOrder {
  int group = 0;
  std::uint64_t layer = 0;
  int place = 0;
  std::uint64_t expert = 0;
  int of_expert = 0;  ///< the place among an expert's
  std::string name;
  /// False for names that no Llama has.
  bool of_model() const;
  auto operator<=>(const ModelOrder&) const = default;
};
ModelOrder model_order(const std::string& parameter);

}  // namespace titan::convert::dcp
