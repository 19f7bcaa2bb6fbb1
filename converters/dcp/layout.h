#pragma once
// Whose names the tensors of a DCP directory have, and behind which prefix: torchtitan's or Hugging Face's.
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"
#include "converters/dcp/names.h"
#include "converters/name_table.h"

namespace titan::convert::dcp {

struct LayoutKey : DcpKey {
  bool halves = false;     ///< its rows lie in halves (ckpt/model/head_rows.h)
  bool derivable = false;  ///< it follows from the configuration
};

struct Layout {
  bool huggingface = false;
  bool halves = false;                    ///< torchtitan's qwen3: its names, and rows of heads as Hugging Face has them
  std::string model;                      ///< before "layers." in names of parameters: "", "model.", "app.model.model."
  std::string optimizer;                  ///< the same in the parameters of optimizer state
  NameTable names = huggingface_names();  ///< Hugging Face's; of one family where it is known

  /// What `name` stands for.
  LayoutKey key(std::string_view name) const;
  /// What Hugging Face's names have beyond their own "model."; "" where nothing, and for torchtitan's.
  std::string wrapping() const;
};

/// Looks for layers of a model in `names`. Names of none are torchtitan's without a prefix. \error kIncompatible: there
/// are several models, and none is that of the usual prefix; `path` names the directory
ckpt::Result<Layout> find_layout(const std::string& path, const std::vector<std::string>& names);

}  // namespace titan::convert::dcp
