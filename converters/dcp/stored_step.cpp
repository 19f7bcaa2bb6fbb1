#include "converters/dcp/stored_step.h"

#include <algorithm>

#include "ckpt/base/text.h"

namespace titan::convert::dcp {
namespace {

// torchtitan: "step-10". Hugging Face's trainers: "checkpoint-10", with the directory in it.
std::optional<std::uint64_t> step_of_folder(const std::string& name) {
  for (const std::string_view prefix : {"step-", "checkpoint-"}) {
    if (!name.starts_with(prefix)) continue;
    const std::string_view digits = std::string_view(name).substr(prefix.size());
    if (digits.size() <= 15 && std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; }))
      return ckpt::number_of<std::uint64_t>(digits);
  }
  return std::nullopt;
}

}  // namespace

ckpt::Result<std::optional<std::uint64_t>> stored_step(const DcpReader& source) {
  const ckpt::Result<Value> step = source.value("train_state.step");
  if (step.ok()) {
    if (step->kind != Value::Kind::kInt || step->integer < 0)
      return ckpt::corrupt(source.path() + ": train_state.step is " + step->to_string());
    return std::optional(static_cast<std::uint64_t>(step->integer));
  }
  if (step.status().code != ckpt::Code::kNotFound) return step.status();
  const std::optional<std::uint64_t> named = step_of_folder(ckpt::base_name(source.path()));
  return named ? named : step_of_folder(ckpt::base_name(ckpt::parent_path(source.path())));
}

}  // namespace titan::convert::dcp
