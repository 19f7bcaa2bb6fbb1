#pragma once
// Formats values of checkpoints as text and as JSON, for all verbs. Pure.
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

/// The hex digits of a digest; "-" for zeros (checkpoints of other formats have no digest).
std::string digest_text(const ckpt::Digest& digest);
/// A digest as JSON: hex digits or null.
void digest_json(JsonOut& json, std::string_view key, const ckpt::Digest& digest);
/// The step of the checkpoint with this id; nullopt for another format, whose files may not record it.
std::optional<std::string> source_step(std::uint64_t step, const ckpt::Digest& id);
/// The member "step": source_step() as a number, or null.
void source_step_json(JsonOut& json, std::uint64_t step, const ckpt::Digest& id);
using ckpt::shape_text;
/// "4x2": DP degree x PP degree.
std::string mesh_text(const ckpt::Mesh& mesh);
/// {"pp":..,"dp":..,"tp":..} under `key`.
void mesh_json(JsonOut& json, std::string_view key, const ckpt::Mesh& mesh);
/// "phases": [{"first","kind","start","end","origin","length"}, ..].
void lr_phases_json(JsonOut& json, const std::vector<ckpt::LrPhase>& phases);
/// The LR settings from which the phases were made, under `key`.
void lr_settings_json(JsonOut& json, std::string_view key, const ckpt::LrSettings& settings);

}  // namespace titan::cli
