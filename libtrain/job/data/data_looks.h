#pragma once
// Looks at a dataset before anything trains on it. Data that cannot be meant are refused, with a way to make them
// readable.
#include <string>
#include <string_view>

#include "ckpt/base/result.h"
#include "libtrain/job/data/token_files.h"

namespace titan::train {

/// Bytes at the beginning of a file that are looked at.
inline constexpr std::size_t kLookBytes = 65536;

/// Refuses a folder that holds no data: a run folder, a checkpoint or a folder of them, a model of Hugging Face. \error
/// kInvalid
ckpt::Status check_data_folder(const std::string& folder, const std::string& key);

/// Refuses a file that is neither text nor bare tokens, by its name: JSON, Parquet, an archive. \error kInvalid
ckpt::Status check_data_name(const std::string& path, TokenKind kind);

/// Refuses what cannot be text, by how it begins: an archive, UTF-16. \error kInvalid
ckpt::Status check_data_bytes(const std::string& path, std::string_view beginning, TokenKind kind);

/// Not ok for data that can be read as this kind but are hardly meant: binary as text, text as tokens, ids of another
/// width (id_looks.h). A run that has trained on such data may resume.
ckpt::Status doubt_of(const std::string& path, std::string_view beginning, TokenKind kind);

/// What else is odd about a file: "looks like a log"; "" for nothing.
std::string odd_look(std::string_view beginning, TokenKind kind);

}  // namespace titan::train
