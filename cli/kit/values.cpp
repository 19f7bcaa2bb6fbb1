#include "cli/kit/values.h"

namespace titan::cli {

std::string digest_text(const ckpt::Digest& digest) { return digest == ckpt::Digest{} ? "-" : digest.hex(); }

void digest_json(JsonOut& json, std::string_view key, const ckpt::Digest& digest) {
  if (digest == ckpt::Digest{}) return json.null(key);
  json.text(key, digest.hex());
}

std::string mesh_text(const ckpt::Mesh& mesh) {
  std::string text = std::to_string(mesh.dp) + "x" + std::to_string(mesh.pp);
  if (mesh.tp > 1) text += "x" + std::to_string(mesh.tp);
  return text;
}

void mesh_json(JsonOut& json, std::string_view key, const ckpt::Mesh& mesh) {
  json.begin_object(key);
  json.count("pp", mesh.pp);
  json.count("dp", mesh.dp);
  json.count("tp", mesh.tp);
  json.end_object();
}

void shape_json(JsonOut& json, std::string_view key, const std::vector<std::uint64_t>& shape) {
  json.begin_array(key);
  for (const std::uint64_t dimension : shape) json.count(dimension);
  json.end_array();
}

void lr_phases_json(JsonOut& json, const std::vector<ckpt::LrPhase>& phases) {
  json.each("phases", phases, [&](const ckpt::LrPhase& phase) {
    json.count("first", phase.first);
    json.text("kind", ckpt::phase_kind_name(phase.kind));
    json.real("start", phase.start);
    json.real("end", phase.end);
    json.real("origin", phase.origin);
    json.real("length", phase.length);
  });
}

void lr_settings_json(JsonOut& json, std::string_view key, const ckpt::LrSettings& settings) {
  json.begin_object(key);
  json.real("peak", settings.peak);
  json.count("warmup_steps", settings.warmup_steps);
  json.count("total_steps", settings.total_steps);
  json.real("decay_ratio", settings.decay_ratio);
  json.text("decay_type", settings.decay_type);
  json.real("min_lr_factor", settings.min_lr_factor);
  json.end_object();
}

}  // namespace titan::cli
