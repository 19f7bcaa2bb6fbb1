#pragma once
// Maps a format's tensor names to Titan's and back. Each format's names are a column of the table of parameters in
// recipe/model/family.h.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recipe/model/dims.h"
#include "recipe/model/family.h"

namespace titan::convert {

using recipe::Rows;

struct MappedName {
  std::string name;
  Rows rows = Rows::kStay;
  bool operator==(const MappedName&) const = default;
};

class NameMap {
 public:
  /// `column`: the format's names. `moves`: the format stores rows of queries and keys in another order than Titan.
  /// `derivable`: name patterns of tensors whose values follow from the configuration.
  NameMap(std::string_view recipe::ParameterKind::*column, bool moves, std::vector<std::string_view> derivable = {})
      : column_(column), moves_(moves), derivable_(std::move(derivable)) {}

  /// The table for the parts of `model` only: some names mean other parts in other families.
  NameMap of(const recipe::ModelDims& model) const;

  /// Titan's name for the format's name `theirs`, or nullopt.
  std::optional<MappedName> ours(std::string_view theirs) const;
  /// The format's name for Titan's name `ours`, or nullopt.
  std::optional<MappedName> theirs(std::string_view ours) const;
  /// True for tensors whose values follow from the configuration: the RoPE tables that old files hold.
  bool derivable(std::string_view theirs) const;

 private:
  bool is_mixtral(const recipe::ParameterKind& kind) const;
  /// The format's name of a part; empty if it has none.
  std::string_view name_of(const recipe::ParameterKind& kind) const;

  std::string_view recipe::ParameterKind::*column_;
  bool moves_;
  std::vector<std::string_view> derivable_;
  std::optional<recipe::ModelDims> model_;
};

/// Hugging Face's names. This table lacks the names of Mixtral's experts; its of() for a Mixtral has them.
const NameMap& huggingface_names();
const NameMap& mistral_names();
/// GGUF's names, with the row order of architecture qwen2.
const NameMap& gguf_tensor_names();
/// torchtitan 0.3.0's names; those of 0.2.2 are Titan's.
const NameMap& torchtitan_names();

}  // namespace titan::convert
