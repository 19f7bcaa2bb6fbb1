#include "titan/ckpt/write.h"

#include <algorithm>
#include <ctime>
#include <memory>
#include <unordered_map>
#include <utility>

#include "api/translate.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/fs_posix.h"
#include "ckpt/base/path.h"
#include "ckpt/format/manifest_builder.h"
#include "ckpt/format/member_names.h"
#include "ckpt/format/state_codec.h"
#include "ckpt/read/virtual_model.h"
#include "ckpt/save/component_writer.h"
#include "ckpt/save/rewrite.h"
#include "titan_version.h"

namespace titan {
namespace {

constexpr unsigned kThreads = 2;  // threads that hash and write

std::string now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

// The tensors of a checkpoint in order, with the TensorData of each stored tensor.
struct Plan {
  ckpt::Manifest manifest;
  std::vector<ckpt::TensorRef> model, slots;
  std::vector<const TensorData*> model_data, slot_data;
  std::uint64_t bytes = 0;
};

ckpt::Status check(const TensorData& tensor) {
  TITAN_RETURN_IF_ERROR(ckpt::check_parameter_name(tensor.parameter));
  const auto wrong = [&](const std::string& what) {
    return ckpt::invalid("tensor `" + tensor.parameter + (tensor.slot.empty() ? "" : "." + tensor.slot) + "`: " + what);
  };
  if (!tensor.slot.empty() && !ckpt::is_slot_name(tensor.slot))
    return wrong("the name of a slot has only a-z, 0-9 and _, 64 at most");
  std::uint64_t elements = 0, bytes = 0;
  if (!ckpt::checked_elements(tensor.shape, &elements) ||
      __builtin_mul_overflow(elements, element_bytes(tensor.dtype), &bytes))
    return wrong("its shape overflows");
  if (tensor.data.size() != bytes)
    return wrong("its data have " + std::to_string(tensor.data.size()) + " bytes, expected " + std::to_string(bytes));
  return ckpt::ok_status();
}

ckpt::StoredTensor stored_form(const TensorData& tensor, const ckpt::Manifest& manifest) {
  ckpt::StoredTensor stored;
  stored.dtype = translated(tensor.dtype);
  stored.chunk = ckpt::LeafGrid{ckpt::element_count(tensor.shape), manifest.leaf_elements}.chunk_extent();
  return stored;
}

ckpt::Result<Plan> plan_of(const State& state, std::span<const TensorData> tensors) {
  Plan plan;
  std::unordered_map<std::string_view, std::uint32_t> parameters;
  std::vector<std::string> slot_names;
  for (const TensorData& tensor : tensors) {
    TITAN_RETURN_IF_ERROR(check(tensor));
    plan.bytes += tensor.data.size();
    if (!tensor.slot.empty()) {
      if (std::ranges::find(slot_names, tensor.slot) == slot_names.end()) slot_names.push_back(tensor.slot);
      continue;
    }
    const auto index = static_cast<std::uint32_t>(plan.manifest.parameters.size());
    if (!parameters.emplace(tensor.parameter, index).second)
      return ckpt::invalid("parameter `" + tensor.parameter + "` is given twice");
    ckpt::ParameterRecord& record = plan.manifest.parameters.emplace_back();
    record.meta.name = tensor.parameter;
    record.meta.shape = tensor.shape;
    record.model = stored_form(tensor, plan.manifest);
    plan.model.push_back({index, ""});
    plan.model_data.push_back(&tensor);
  }
  if (plan.model.empty()) return ckpt::invalid("a checkpoint has one parameter at least");
  for (const std::string& slot : slot_names) {
    for (const TensorData& tensor : tensors) {
      if (tensor.slot != slot) continue;
      const auto found = parameters.find(tensor.parameter);
      if (found == parameters.end())
        return ckpt::invalid("`" + tensor.parameter + "." + slot + "` is state of a parameter that is not given");
      ckpt::ParameterRecord& record = plan.manifest.parameters[found->second];
      if (record.meta.shape != tensor.shape)
        return ckpt::invalid("`" + tensor.parameter + "." + slot + "` has another shape than its parameter");
      if (plan.manifest.stored({found->second, slot}) != nullptr)
        return ckpt::invalid("`" + tensor.parameter + "." + slot + "` is given twice");
      record.slots.push_back({slot, stored_form(tensor, plan.manifest)});
      record.optimizer_step = state.step;
      plan.slots.push_back({found->second, slot});
      plan.slot_data.push_back(&tensor);
    }
  }
  return plan;
}

ckpt::Status write_tensors(ckpt::Rewrite& rewrite, const char* component, const std::vector<ckpt::TensorRef>& refs,
                           const std::vector<const TensorData*>& data, ckpt::Manifest& manifest) {
  if (refs.empty()) return ckpt::ok_status();
  TITAN_RETURN_IF_ERROR(rewrite.make_folder_of(ckpt::shard_path(component, 0)));
  const auto elements = [&](std::size_t tensor, std::uint64_t first,
                            std::span<std::byte> scratch) -> ckpt::Result<std::span<const std::byte>> {
    TITAN_RETURN_IF_ERROR(rewrite.beat());
    return data[tensor]->data.subspan(first * element_bytes(data[tensor]->dtype), scratch.size());
  };
  return ckpt::write_component(ckpt::posix_fs(), rewrite.folder(), component, refs, elements, manifest, kThreads);
}

ckpt::Status check_new(const std::string& path) {
  if (ckpt::posix_fs().stat(path).ok())
    return ckpt::invalid(path + " exists: a checkpoint is never changed").with_hint("choose another name");
  return ckpt::ok_status();
}

ckpt::Result<Written> write_all(const std::string& path, const State& state, std::span<const TensorData> tensors) {
  TITAN_RETURN_IF_ERROR(check_new(path));
  TITAN_ASSIGN_OR_RETURN(Plan plan, plan_of(state, tensors));
  ckpt::Manifest& manifest = plan.manifest;
  manifest.step = state.step;
  manifest.created = now();
  manifest.writer =
      (state.program.empty() ? "" : state.program + ", ") + "libtitan-ckpt " TITAN_VERSION " (" + TITAN_GIT_HASH + ")";
  manifest.config = {state.settings.begin(), state.settings.end()};
  ckpt::TrainState train;
  train.step = state.step;
  train.tokens = state.tokens;
  train.seed = state.seed;
  train.wall_time_s = state.seconds;
  const std::string train_text = ckpt::encode_train_state(train);
  const ckpt::Result<ckpt::TrainState> read_back =
      ckpt::decode_train_state(ckpt::json_path(ckpt::kTrainState), train_text);
  if (!read_back.ok()) return ckpt::invalid("the state cannot be stored: " + read_back.status().message);

  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::Rewrite> rewrite,
                         ckpt::Rewrite::begin(ckpt::posix_fs(), "", path, false));
  TITAN_RETURN_IF_ERROR(rewrite->need_space(plan.bytes));
  TITAN_RETURN_IF_ERROR(write_tensors(*rewrite, ckpt::kModel, plan.model, plan.model_data, manifest));
  TITAN_RETURN_IF_ERROR(write_tensors(*rewrite, ckpt::kOptimizer, plan.slots, plan.slot_data, manifest));
  ckpt::ManifestBuilder builder(manifest);
  TITAN_RETURN_IF_ERROR(rewrite->write(ckpt::json_path(ckpt::kTrainState), train_text));
  builder.put_json(ckpt::kTrainState, train_text);
  TITAN_ASSIGN_OR_RETURN(ckpt::FileEntry by_name,
                         ckpt::write_virtual_model(ckpt::posix_fs(), rewrite->folder(), manifest));
  builder.add_file(std::move(by_name));
  builder.seal({{}, {}, state.tokens});
  TITAN_RETURN_IF_ERROR(rewrite->publish(manifest));

  Written written{path, manifest.id.hex(), 0};
  for (const ckpt::FileEntry& file : manifest.files) written.bytes += file.bytes;
  return written;
}

}  // namespace

std::string step_folder(const std::string& run, std::uint64_t step) {
  return ckpt::join_path(run, ckpt::step_name(step));
}

Result<Written> write_checkpoint(const std::string& path, const State& state,
                                 std::span<const TensorData> tensors) noexcept {
  return guarded(path, [&]() -> Result<Written> {
    ckpt::Result<Written> written = write_all(path, state, tensors);
    if (!written.ok()) return translated(written.status(), path);
    return std::move(written).value();
  });
}

}  // namespace titan
