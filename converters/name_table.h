#pragma once
// Names of a format's tensors and ours: a table of converters/names, read both ways.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

class NameTable {
 public:
  /// `text` is a table file's: lines of columns between tabs (theirs, ours, rows), '#' in a name for the number of a
  /// layer, a first '#' of a line for a comment. It outlives this. \error std::logic_error for a line that is none of
  /// these
  explicit NameTable(std::string_view text);

  /// Our name of `theirs`, or nullopt.
  std::optional<MappedName> ours(std::string_view theirs) const;
  /// Their name of `ours`, or nullopt.
  std::optional<MappedName> theirs(std::string_view ours) const;
  /// True for tensors that follow from the configuration (rotary tables that old files hold).
  bool derivable(std::string_view theirs) const;

 private:
  struct Row {
    std::string_view theirs, ours;
    Rows rows = Rows::kStay;
  };
  std::vector<Row> rows_;
  std::vector<std::string_view> derivable_;
};

const NameTable& huggingface_names();
const NameTable& mistral_names();
/// GGUF's; rows are those of the architecture qwen2.
const NameTable& gguf_tensor_names();
/// torchtitan 0.3.0's names; those of 0.2.2 are ours.
const NameTable& torchtitan_names();

}  // namespace titan::convert
