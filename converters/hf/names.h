#pragma once
// Names of tensors in Hugging Face's Llama family and ours: a table, read both ways.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace titan::convert {

/// What becomes of a tensor's rows between the formats.
enum class Rows {
  kStay,
  kQuery,  ///< per query head: ours rotates neighbours, theirs halves
  kKey,    ///< the same per key head
};

struct MappedName {
  std::string name;
  Rows rows = Rows::kStay;
  bool operator==(const MappedName&) const = default;
};

/// Our name of `hf`, or nullopt.
std::optional<MappedName> titan_name(std::string_view hf);
/// Their name of `titan`, or nullopt.
std::optional<MappedName> hf_name(std::string_view titan);
/// True for tensors that follow from the configuration (rotary tables that old files hold).
bool derivable(std::string_view hf);

}  // namespace titan::convert
