#include "cli/titan_ckpt/verify.h"

#include <algorithm>

#include "ckpt/base/printed.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/json_out.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/kit/work.h"
#include "cli/titan_ckpt/verbs.h"
#include "converters/foreign_view.h"

namespace titan::cli {
namespace {

using ckpt::Damage;
using ckpt::VerifiedStep;
using ckpt::VerifySummary;

std::string places(std::uint64_t count) { return ckpt::counted(count, "place"); }

std::string checked(std::uint64_t leaves, std::uint64_t bytes, const TextStyle& style) {
  return ckpt::counted(leaves, "leaf", "leaves") + ", " + format_bytes(bytes, style.exact_bytes);
}

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

std::string damage_line(const ckpt::Damage& damage) {
  std::string text = escape(damage.file) + ": " + escape(damage.unit);
  if (damage.unit == "leaf") text += " " + std::to_string(damage.leaf);
  if (!damage.tensor.empty()) text += " of " + escape(damage.tensor);
  if (damage.bytes > 0) text += ", " + format_count(damage.bytes) + " bytes at offset " + format_count(damage.offset);
  if (!damage.detail.empty()) text += ": " + escape(damage.detail);
  return text;
}

ckpt::Result<Answer> run_verify(const Request& request) {
  if (asks_for_signature(request.command)) return run_check_signature(request);
  if (asks_for_repair(request.command)) return run_repair(request);
  ckpt::VerifyOptions options;
  options.target = convert::resolve_any(request.fs, request.command.positionals[0]);
  TITAN_ASSIGN_OR_RETURN(options.threads, thread_count(request.command));
  const Work work(request, options, "verify ");
  TITAN_ASSIGN_OR_RETURN(const ckpt::VerifySummary summary, convert::verify_any(request.fs, options));
  return Answer{.text = request.json ? verify_json(summary) : verify_text(summary, request.style),
                .error = summary.unreadable(),
                .exit_code = summary.damage > 0 ? 1 : 0};
}

}  // namespace titan::cli
