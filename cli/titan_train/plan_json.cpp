// `plan` as one JSON document, schema "titan.plan/1".
#include "ckpt/plan/lr_schedule.h"
#include "cli/titan_train/plan_report.h"
#include "cli/ui/json_out.h"
#include "cli/ui/reports.h"

namespace titan::train_cli {
namespace {

using train::Forecast;
using ui::JsonOut;

void model(JsonOut& json, const Forecast& f) {
  const train::ModelDims& d = f.plan.dims;
  json.begin_object("model");
  json.count("parameters", f.parameters);
  json.integer("dim", d.dim);
  json.integer("n_layers", d.n_layers);
  json.integer("n_heads", d.n_heads);
  json.integer("n_kv_heads", d.n_kv_heads);
  json.integer("head_dim", d.head_dim);
  json.integer("ffn_dim", d.ffn_dim);
  json.integer("vocab_size", d.vocab_size);
  json.flag("tied_embeddings", d.tied);
  json.flag("qkv_bias", d.qkv_bias);
  json.text("compute", f.plan.bf16 ? "bfloat16" : "float32");
  json.end_object();
}

void start(JsonOut& json, const PlanReport& report) {
  json.begin_object("start");
  json.text("mode", report.start.path.empty() ? "fresh" : "resume");
  json.count("step", report.start.step);
  if (!report.start.path.empty()) json.path("path", report.start.path);
  json.text("reason", report.start.reason);
  json.begin_array("skipped");
  for (const std::string& line : report.start.skipped) json.text(line);
  json.end_array();
  json.end_object();
  json.flag("complete", report.complete);
  json.begin_array("drift");
  for (const train::Drift& row : report.drift) {
    json.begin_object();
    json.text("key", row.key);
    json.text("checkpoint", row.stored);
    json.text("config", row.config);
    json.end_object();
  }
  json.end_array();
}

void stages(JsonOut& json, const Forecast& f) {
  json.begin_array("stages");
  for (const train::StageForecast& s : f.stages) {
    json.begin_object();
    json.flag("embedding", s.parts.embedding);
    json.integer("first_layer", s.parts.first_layer);
    json.integer("end_layer", s.parts.end_layer);
    json.flag("head", s.parts.head);
    json.count("parameters", s.parameters);
    json.real("cost_share", s.cost_share);
    json.count("in_flight", s.in_flight);
    json.begin_object("memory");
    json.count("weights", s.memory.weights);
    json.count("gradients_estimate", s.memory.gradients);
    json.count("optimizer", s.memory.optimizer);
    json.count("activations_estimate", s.memory.activations);
    json.count("total_estimate", s.memory.total());
    json.end_object();
    json.end_object();
  }
  json.end_array();
  json.begin_object("pipeline");
  json.text("schedule", f.plan.schedule);
  json.real("bubble_equal_stages", f.bubble.equal);
  json.real("bubble", f.bubble.with_costs);
  json.end_object();
}

void batches(JsonOut& json, const Forecast& f) {
  json.begin_object("batch");
  json.integer("micro_batch", f.plan.batch.micro);
  json.integer("micro_batches", f.plan.batch.count);
  json.integer("global_batch", f.plan.batch.global);
  json.integer("seq_len", f.plan.batch.seq_len);
  json.begin_array("per_rank");
  for (const std::uint32_t count : f.rank_micro_batches) json.count(count);
  json.end_array();
  json.count("tokens_per_step", f.tokens_per_step);
  json.count("tokens_before", f.tokens_before);
  json.count("tokens_after", f.tokens_after);
  json.end_object();
}

void data(JsonOut& json, const PlanReport& report) {
  if (!report.data) return json.null("data");
  const train::DataForecast& d = *report.data;
  json.begin_object("data");
  json.text("kind", d.kind);
  json.count("files", d.files);
  json.count("bytes", d.bytes);
  json.count("samples_per_epoch", d.samples_per_epoch);
  json.count("held_back", d.held_back);
  json.count("first_sample", d.first_sample);
  json.count("end_sample", d.end_sample);
  json.real("first_epoch", d.first_epoch);
  json.real("end_epoch", d.end_epoch);
  json.end_object();
}

void saves(JsonOut& json, const Forecast& f) {
  json.begin_object("checkpoints");
  json.flag("enabled", f.saves.enabled);
  json.count("model_bytes", f.saves.model_bytes);
  json.count("optimizer_bytes", f.saves.optimizer_bytes);
  json.count("count", f.saves.count);
  json.count("interval", f.saves.interval);
  json.count("kept", f.saves.kept);
  json.count("most_at_once", f.saves.peak_count);
  json.end_object();
}

void refusal(JsonOut& json, const ckpt::Status& status) {
  if (status.ok()) return json.null("refused");
  json.begin_object("refused");
  json.integer("code", ckpt::exit_code(status.code));
  json.text("kind", ckpt::code_name(status.code));
  json.text("message", status.message);
  json.begin_array("causes");
  for (const std::string& cause : status.causes) json.text(cause);
  json.end_array();
  json.text("hint", status.hint);
  json.end_object();
}

}  // namespace

std::string plan_json(const PlanReport& report) {
  const Forecast& f = report.forecast;
  JsonOut json;
  json.begin_object();
  json.text("schema", "titan.plan/1");
  json.path("config_file", report.config_file);
  json.path("run_folder", report.run_folder);
  start(json, report);
  json.count("first_step", f.first_step);
  json.count("last_step", f.last_step);
  model(json, f);
  ui::mesh_json(json, "mesh", f.plan.mesh);
  stages(json, f);
  batches(json, f);
  data(json, report);
  json.begin_array("curve");
  for (const std::uint64_t step : curve_steps(f.first_step, f.last_step)) {
    json.begin_object();
    json.count("step", step);
    json.real("lr", ckpt::lr_at(report.lr.phases, step));
    json.end_object();
  }
  json.end_array();
  saves(json, f);
  json.begin_array("warnings");
  for (const std::string& warning : f.warnings) json.text(warning);
  json.end_array();
  refusal(json, report.refused);
  json.end_object();
  return json.line();
}

}  // namespace titan::train_cli
