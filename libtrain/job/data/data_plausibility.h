#pragma once
// Checks a dataset before training. Refuses files that are obviously not training data, with a hint on how to convert
// them.
#include <string>
#include <string_view>

#include "ckpt/base/result.h"
#include "libtrain/job/data/token_files.h"

namespace titan::train {

/// How many bytes at the beginning of a file are checked.
inline constexpr std::size_t kLookBytes = 65536;

/// Refuses a folder whose files a run cannot read as data: a run folder, a checkpoint, a folder of checkpoints, a
/// Hugging Face model, or a dataset of MosaicML or litdata. \error kInvalid
ckpt::Status check_data_folder(const std::string& folder, const std::string& key);

/// Refuses a file whose name shows that it cannot be read as `kind`: JSON, Parquet, an archive. \error kInvalid
ckpt::Status check_data_name(const std::string& path, TokenKind kind);

/// For texts: refuses a file whose beginning shows that it is not text: an archive, UTF-16. \error kInvalid
ckpt::Status check_data_bytes(const std::string& path, std::string_view beginning, TokenKind kind);

/// Not ok for data that can be read as `kind` but are probably something else: binary data read as text, text read as
/// tokens, ids of another width (id_looks.h). A run that has already trained on such data may resume.
ckpt::Status doubt_of(const std::string& path, std::string_view beginning, TokenKind kind);

/// Another suspicious property of a file, such as "looks like a log"; empty if there is none.
std::string odd_look(std::string_view beginning, TokenKind kind);

}  // namespace titan::train
