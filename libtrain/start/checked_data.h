#pragma once
// Which data files rank 0 has read whole: text of terabytes is checked by one rank, not by each.
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/model/data_position.h"

namespace titan::train {

std::string encode_files(const std::vector<ckpt::DataFile>& files);
/// Throws std::runtime_error where the message is cut off.
std::vector<ckpt::DataFile> decode_files(std::string_view bytes);

/// What a start on data of `kind` need not read whole: `others`, and the files of the data that it goes on with (null:
/// it begins). What was read as something else was not looked at so.
std::vector<ckpt::DataFile> known_files(std::vector<ckpt::DataFile> others, const ckpt::DataPosition* stored,
                                        const std::string& kind);

}  // namespace titan::train
