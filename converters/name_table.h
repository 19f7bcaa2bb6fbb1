#pragma once
// Names of a format's tensors and ours, both ways: a column of the list of parameters (recipe/model/family.h).
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

class NameTable {
 public:
  /// `column`: whose names. `moves`: rows of queries and keys lie otherwise there than here. `derivable`: patterns of
  /// tensors that follow from the configuration.
  NameTable(std::string_view recipe::ParameterKind::*column, bool moves, std::vector<std::string_view> derivable = {})
      : column_(column), moves_(moves), derivable_(std::move(derivable)) {}

  /// The same of the parts of `model` alone: some names stand for other parts in other families.
  NameTable of(const recipe::ModelDims& model) const;

  /// Our name of `theirs`, or nullopt.
  std::optional<MappedName> ours(std::string_view theirs) const;
  /// Their name of `ours`, or nullopt.
  std::optional<MappedName> theirs(std::string_view ours) const;
  /// True for tensors that follow from the configuration (rotary tables that old files hold).
  bool derivable(std::string_view theirs) const;

 private:
  bool is_mixtral(const recipe::ParameterKind& kind) const;
  /// Their name of a part; empty where they have none.
  std::string_view name_of(const recipe::ParameterKind& kind) const;

  std::string_view recipe::ParameterKind::*column_;
  bool moves_;
  std::vector<std::string_view> derivable_;
  std::optional<recipe::ModelDims> model_;
};

/// Hugging Face's; without a model, those of Mixtral's experts are not among them.
const NameTable& huggingface_names();
const NameTable& mistral_names();
/// GGUF's; rows are those of the architecture qwen2.
const NameTable& gguf_tensor_names();
/// torchtitan 0.3.0's names; those of 0.2.2 are ours.
const NameTable& torchtitan_names();

}  // namespace titan::convert
