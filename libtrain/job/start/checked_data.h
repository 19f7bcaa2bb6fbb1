#pragma once
// Which data files rank 0 has read whole: text of terabytes is checked by one rank, not by each, and the blocks of
// thousands of files are.
#include <string>
#include <string_view>
#include <vector>

#include "libtrain/job/data/dataset.h"

namespace titan::train {

std::string encode_files(const std::vector<KnownFile>& files);
/// Throws std::runtime_error where the message is cut off.
std::vector<KnownFile> decode_files(std::string_view bytes);

/// What a start on data of `kind` need not read whole: `others`, and the files of the data that it goes on with (null:
/// it begins). What was read as something else was not looked at so.
std::vector<KnownFile> known_files(std::vector<KnownFile> others, const ckpt::DataPosition* stored,
                                   const std::string& kind);

}  // namespace titan::train
