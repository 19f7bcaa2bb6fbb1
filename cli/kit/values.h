#pragma once
// Values of checkpoints as text and as JSON, as every verb writes them. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/hash.h"
#include "ckpt/model/lr.h"
#include "ckpt/model/shape_text.h"
#include "ckpt/model/tensor_meta.h"
#include "cli/kit/json_out.h"

namespace titan::cli {

/// Its hex digits; "-" for the zeros of a checkpoint of another format, which has none.
std::string digest_text(const ckpt::Digest& digest);
/// The same as JSON: hex digits or null.
void digest_json(JsonOut& json, std::string_view key, const ckpt::Digest& digest);
/// The step of a checkpoint with this id; none where it is of another format, whose files need not say one.
std::optional<std::string> source_step(std::uint64_t step, const ckpt::Digest& id);
/// The member "step": that number, or null.
void source_step_json(JsonOut& json, std::uint64_t step, const ckpt::Digest& id);
using ckpt::shape_text;
/// "4x2": DP degree x PP degree.
std::string mesh_text(const ckpt::Mesh& mesh);
/// {"pp":..,"dp":..,"tp":..} under `key`.
void mesh_json(JsonOut& json, std::string_view key, const ckpt::Mesh& mesh);
/// "phases": [{"first","kind","start","end","origin","length"}, ..].
void lr_phases_json(JsonOut& json, const std::vector<ckpt::LrPhase>& phases);
/// The settings that phases came from, under `key`.
void lr_settings_json(JsonOut& json, std::string_view key, const ckpt::LrSettings& settings);

}  // namespace titan::cli
