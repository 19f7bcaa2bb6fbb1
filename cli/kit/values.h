#pragma once
// Formats values of checkpoints (digests, steps, meshes, LR schedules) as text and as JSON, for all verbs. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/hash.h"
#include "ckpt/model/lr.h"
#include "ckpt/model/tensor_meta.h"
#include "cli/kit/json_out.h"

namespace titan::cli {

/// The hex digits of a digest; "-" if all bytes are zero, since checkpoints of other formats have no digest.
std::string digest_text(const ckpt::Digest& digest);
/// A member with the hex digits of a digest, or null if all bytes are zero.
void digest_json(JsonOut& json, std::string_view key, const ckpt::Digest& digest);
/// `step` as text. nullopt if step and id are zero: the files of some other formats do not record the step.
std::optional<std::string> source_step(std::uint64_t step, const ckpt::Digest& id);
/// The member "step": the number, or null where source_step() is nullopt.
void source_step_json(JsonOut& json, std::uint64_t step, const ckpt::Digest& id);
using ckpt::shape_text;
/// "4x2": DP degree x PP degree; "4x2x2" if the TP degree is above 1 (checkpoints of other formats).
std::string mesh_text(const ckpt::Mesh& mesh);
/// A member `key`: {"pp":..,"dp":..,"tp":..}.
void mesh_json(JsonOut& json, std::string_view key, const ckpt::Mesh& mesh);
/// A member "phases": [{"first","kind","start","end","origin","length"}, ..].
void lr_phases_json(JsonOut& json, const std::vector<ckpt::LrPhase>& phases);
/// A member `key` with the LR settings (peak, warmup_steps, ...) from which an LR schedule was made.
void lr_settings_json(JsonOut& json, std::string_view key, const ckpt::LrSettings& settings);

}  // namespace titan::cli
