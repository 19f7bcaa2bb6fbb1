// Any bytes as lr_scheduler.json, dataloader.json or train_state.json (the first byte says which): what is accepted is
// written as a text that reads back as the same value, and its curve can be followed.
#include <string>

#include "ckpt/plan/lr_schedule.h"
#include "tests/fuzz/checkpoint_input.h"

namespace {

using namespace titan::ckpt;

template <typename Value>
Result<Value> round_trip(std::string_view text, Result<Value> (*decode)(const std::string&, std::string_view),
                         std::string (*encode)(const Value&)) {
  Result<Value> value = decode("input", text);
  if (!value.ok()) {
    titan::fuzz::require(value.status().code == Code::kCorrupt && !value.status().message.empty());
    return value;
  }
  const Result<Value> again = decode("again", encode(*value));
  titan::fuzz::require(again.ok() && *again == *value);
  return value;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 3 == 1) {
    static_cast<void>(round_trip(text, decode_data_position, encode_data_position).ok());
  } else if (data[0] % 3 == 2) {
    static_cast<void>(round_trip(text, decode_train_state, encode_train_state).ok());
  } else if (const auto lr = round_trip(text, decode_lr_schedule, encode_lr_schedule); lr.ok() && !lr->phases.empty()) {
    for (const std::uint64_t step : {std::uint64_t{1}, std::uint64_t{50}, lr->phases.back().first, UINT64_MAX})
      static_cast<void>(lr_at(lr->phases, step));
    static_cast<void>(curve_end(lr->phases));
    static_cast<void>(zero_from(lr->phases, 1, 1000));
  }
  return 0;
}
