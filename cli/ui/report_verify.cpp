#include "cli/ui/reports.h"
#include "cli/ui/text.h"
#include "cli/ui/units.h"

namespace titan::ui {

namespace {

using ckpt::Damage;
using ckpt::VerifiedStep;
using ckpt::VerifySummary;

/// "model/shard-00000.h5: leaf 17 of layers.7.w2.weight, bytes 17825792 to 18874368: checksum 9f.. expected 41..".
std::string damage_line(const Damage& damage) {
  std::string text = escape(damage.file) + ": " + escape(damage.unit);
  if (damage.unit == "leaf") text += " " + std::to_string(damage.leaf);
  if (!damage.tensor.empty()) text += " of " + escape(damage.tensor);
  if (damage.bytes > 0) text += ", " + format_count(damage.bytes) + " bytes at offset " + format_count(damage.offset);
  if (!damage.detail.empty()) text += ": " + escape(damage.detail);
  return text;
}

std::string places(std::uint64_t count) { return format_count(count) + (count == 1 ? " place" : " places"); }

std::string checked(std::uint64_t leaves, std::uint64_t bytes, const TextStyle& style) {
  return format_count(leaves) + (leaves == 1 ? " leaf, " : " leaves, ") + format_bytes(bytes, style.exact_bytes);
}

void places_json(JsonOut& json, const VerifiedStep& step, const std::vector<Damage>& places) {
  for (const Damage& damage : places) {
    json.begin_object();
    json.path("checkpoint", step.path);
    json.path("file", damage.file);
    json.text("unit", damage.unit);
    json.text("tensor", damage.tensor);
    json.count("leaf", damage.leaf);
    json.count("offset", damage.offset);
    json.count("bytes", damage.bytes);
    json.text("detail", damage.detail);
    json.end_object();
  }
}

}  // namespace

std::string verify_text(const VerifySummary& summary, const TextStyle& style) {
  const Palette& palette = style.palette;
  std::string out;
  for (const VerifiedStep& step : summary.steps) {
    const std::size_t count = step.report.damage.size();
    if (!step.readable.ok()) {
      out += palette.paint(Role::kWarning, "unchecked") + "  " + escape(step.path) + "  " +
             escape(step.readable.message) + "\n";
    } else if (count == 0 && !step.report.unreadable.empty()) {
      out += palette.paint(Role::kWarning, "unreadable") + "  " + escape(step.path) + "  " +
             places(step.report.unreadable.size()) + ", no damage known\n";
    } else if (count == 0) {
      out += palette.paint(Role::kOk, "ok") + "  " + escape(step.path) + "  " +
             checked(step.report.leaves, step.report.bytes, style) + "\n";
    } else {
      out += palette.paint(Role::kError, "damaged") + "  " + escape(step.path) + "  " + places(count) +
             (step.report.unreadable.empty() ? "" : ", " + places(step.report.unreadable.size()) + " unreadable") +
             "\n";
    }
    for (const Damage& damage : step.report.damage) out += "  " + damage_line(damage) + "\n";
    for (const Damage& place : step.report.unreadable) out += "  unreadable: " + damage_line(place) + "\n";
    if (step.report.not_named > 0) out += "  and " + places(step.report.not_named) + " more\n";
    if (!step.report.note.empty()) out += "  note: " + escape(step.report.note) + "\n";
  }
  for (const std::string& path : summary.deleted)
    out += palette.paint(Role::kWarning, "deleted") + "  " + escape(path) + "  was deleted meanwhile, left out\n";
  if (summary.is_run) {
    const std::size_t count = summary.steps.size();
    const auto unchecked = std::count_if(summary.steps.begin(), summary.steps.end(),
                                         [](const VerifiedStep& step) { return !step.readable.ok(); });
    out += "total  " + std::to_string(count) + (count == 1 ? " step, " : " steps, ") +
           checked(summary.leaves, summary.bytes, style) + ", " + std::to_string(summary.damage) + " damaged" +
           (summary.unreadable_places == 0 ? "" : ", " + std::to_string(summary.unreadable_places) + " unreadable") +
           (unchecked == 0 ? "" : ", " + std::to_string(unchecked) + " not checked") + "\n";
  }
  return out;
}

std::string verify_json(const VerifySummary& summary) {
  JsonOut json;
  json.begin_object();
  json.text("schema", "titan.verify/1");
  json.text("type", "summary");
  json.flag("ok", summary.ok());
  json.count("leaves", summary.leaves);
  json.count("bytes", summary.bytes);
  json.begin_array("damage");
  for (const VerifiedStep& step : summary.steps) places_json(json, step, step.report.damage);
  json.end_array();
  json.begin_array("unreadable");
  for (const VerifiedStep& step : summary.steps) places_json(json, step, step.report.unreadable);
  json.end_array();
  json.begin_array("checkpoints");
  for (const VerifiedStep& step : summary.steps) {
    json.begin_object();
    json.path("path", step.path);
    json.flag("ok", step.readable.ok() && step.report.damage.empty() && step.report.unreadable.empty());
    json.text("unchecked", step.readable.message);
    json.count("leaves", step.report.leaves);
    json.count("bytes", step.report.bytes);
    json.count("damage", step.report.damage.size());
    json.count("unreadable", step.report.unreadable.size());
    if (step.report.not_named > 0) json.count("not_named", step.report.not_named);
    if (!step.report.note.empty()) json.text("note", step.report.note);
    json.end_object();
  }
  json.end_array();
  json.begin_array("deleted");
  for (const std::string& path : summary.deleted) {
    json.begin_object();
    json.path("path", path);
    json.text("note", "was deleted meanwhile");
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.line();
}

}  // namespace titan::ui
