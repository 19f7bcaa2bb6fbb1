#pragma once
// Encoding of the JSON components. \source FORMAT.md, "JSON members"
#include <string>
#include <string_view>

#include "ckpt/base/result.h"
#include "ckpt/model/data_position.h"
#include "ckpt/model/lr.h"
#include "ckpt/model/train_state.h"

namespace titan::ckpt {

std::string encode_lr_schedule(const LrSchedule& schedule);
std::string encode_data_position(const DataPosition& position);
std::string encode_train_state(const TrainState& state);

/// Decode the texts that the functions above encode. `what` names the text in messages. \error kCorrupt
Result<LrSchedule> decode_lr_schedule(const std::string& what, std::string_view text);
Result<DataPosition> decode_data_position(const std::string& what, std::string_view text);
Result<TrainState> decode_train_state(const std::string& what, std::string_view text);

}  // namespace titan::ckpt
