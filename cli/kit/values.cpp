#include "cli/kit/values.h"

namespace titan::cli {

std::string digest_text(const ckpt::Digest& digest) { return digest == ckpt::Digest{} ? "-" : digest.hex(); }

void digest_json(JsonOut& json, std::string_view key, const ckpt::Digest& digest) {
  if (digest == ckpt::Digest{}) return json.null(key);
  json.text(key, digest.hex());
}

std::optional<std::string> source_step(std::uint64_t step, const ckpt::Digest& id) {
  if (step == 0 && id == ckpt::Digest{}) return std::nullopt;
  return std::to_string(step);
}

void source_step_json(JsonOut& json, std::uint64_t step, const ckpt::Digest& id) {
  if (!source_step(step, id)) return json.null("step");
  json.count("step", step);
}

std::string mesh_text(const ckpt::Mesh& mesh) {
  std::string text = std::to_string(mesh.dp) + "x" + std::to_string(mesh.pp);
  if (mesh.tp > 1) text += "x" + std::to_string(mesh.tp);
  return text;
}

void mesh_json(JsonOut& json, std::string_view key, const ckpt::Mesh& mesh) {
  json.object(key, "pp", mesh.pp, "dp", mesh.dp, "tp", mesh.tp);
}

void lr_phases_json(JsonOut& json, const std::vector<ckpt::LrPhase>& phases) {
  json.each("phases", phases, [&](const ckpt::LrPhase& phase) {
    json.members("first", phase.first, "kind", ckpt::phase_kind_name(phase.kind), "start", phase.start);
    json.members("end", phase.end, "origin", phase.origin, "length", phase.length);
  });
}

void lr_settings_json(JsonOut& json, std::string_view key, const ckpt::LrSettings& settings) {
  json.object(key, "peak", settings.peak, "warmup_steps", settings.warmup_steps, "total_steps", settings.total_steps,
              "decay_ratio", settings.decay_ratio, "decay_type", settings.decay_type, "min_lr_factor",
              settings.min_lr_factor);
}

}  // namespace titan::cli
