#pragma once
// Which program's names the tensors of a DCP directory have (torchtitan's or Hugging Face's), and with which prefix.
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"
#include "converters/dcp/names.h"
#include "converters/name_map.h"

namespace titan::convert::dcp {

/// The meaning of one name in a directory.
struct LayoutKey : DcpKey {
  bool rotate_half = false;  ///< its rows are in rotate-half order (ckpt/model/rope_permutation.h)
  bool derivable = false;    ///< its value follows from the configuration
};

/// The naming scheme of a directory.
struct Layout {
  bool huggingface = false;
  bool rotate_half = false;  ///< torchtitan's qwen3: torchtitan's names, but rows of heads in rotate-half order
  std::string model;         ///< prefix before "layers." in names of parameters: "", "model.", "app.model.model."
  std::string optimizer;     ///< prefix before "layers." in the parameter names within names of optimizer state
  NameMap names = huggingface_names();  ///< Hugging Face's names; of one family if that is known

  /// Parses `name`.
  LayoutKey key(std::string_view name) const;
  /// The part of the prefix `model` that is not Hugging Face's own "model.". For torchtitan's names, the whole prefix.
  std::string wrapping() const;
};

/// Finds the layers of a model in `names`. renamed[i] says whether the user's rules have changed name i; if unchanged
/// names are Hugging Face's, names that the rules have made Titan's do not count. Without any layers, names are taken
/// as torchtitan's without a prefix. `path` names the directory in messages. \error kIncompatible: there are several
/// models, and none has the usual prefix ("model." for Hugging Face's names, none for torchtitan's)
ckpt::Result<Layout> find_layout(const std::string& path, const std::vector<std::string>& names,
                                 const std::vector<bool>& renamed);

}  // namespace titan::convert::dcp
