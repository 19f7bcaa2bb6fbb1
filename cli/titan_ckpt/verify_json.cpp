#include "cli/titan_ckpt/verify.h"

#include "cli/kit/json_out.h"

namespace titan::cli {
namespace {

using ckpt::Damage;
using ckpt::VerifiedStep;
using ckpt::VerifySummary;

void places_json(JsonOut& json, const VerifiedStep& step, const std::vector<Damage>& places) {
  for (const Damage& damage : places) {
    json.begin_object();
    json.path("checkpoint", step.path);
    json.path("file", damage.file);
    json.members("unit", damage.unit, "tensor", damage.tensor, "leaf", damage.leaf, "offset", damage.offset);
    json.members("bytes", damage.bytes, "detail", damage.detail);
    json.end_object();
  }
}

}  // namespace

std::string verify_json(const VerifySummary& summary) {
  JsonOut json("titan.verify/1");
  json.members("type", "summary", "ok", summary.ok(), "leaves", summary.leaves, "bytes", summary.bytes);
  json.begin_array("damage");
  for (const VerifiedStep& step : summary.steps) places_json(json, step, step.report.damage);
  json.end_array();
  json.begin_array("unreadable");
  for (const VerifiedStep& step : summary.steps) places_json(json, step, step.report.unreadable);
  json.end_array();
  json.each("checkpoints", summary.steps, [&](const VerifiedStep& step) {
    json.path("path", step.path);
    json.members("ok", step.readable.ok() && step.report.damage.empty() && step.report.unreadable.empty());
    json.members("unchecked", step.readable.message, "leaves", step.report.leaves, "bytes", step.report.bytes);
    json.members("damage", step.report.damage.size(), "unreadable", step.report.unreadable.size());
    if (step.report.not_named > 0) json.count("not_named", step.report.not_named);
    if (!step.report.note.empty()) json.text("note", step.report.note);
  });
  json.each("deleted", summary.deleted, [&](const std::string& path) {
    json.path("path", path);
    json.text("note", "was deleted meanwhile");
  });
  return json.document();
}

}  // namespace titan::cli
