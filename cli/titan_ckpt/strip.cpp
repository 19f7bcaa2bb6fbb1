#include "ckpt/base/printed.h"
#include "cli/titan_ckpt/verbs.h"

#include <ctime>

#include "ckpt/base/text.h"
#include "ckpt/ops/strip.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/kit/values.h"
#include "cli/kit/version.h"
#include "cli/kit/work.h"
#include "cli/titan_ckpt/carried.h"

namespace titan::cli {
namespace {

std::string named(const std::vector<std::string>& names) {
  return names.empty() ? "nothing" : escape(ckpt::joined(names));
}

std::string strip_text(const ckpt::StripReport& report, const TextStyle& style) {
  Facts facts;
  facts.add("source",
            escape(report.src) + " (step " + std::to_string(report.step) + ", id " + report.old_id.hex() + ")");
  facts.add("keeps", named(report.kept) + "; parameters " + format_bytes(report.model_bytes, style.exact_bytes));
  facts.add("drops", named(report.dropped) +
                         (report.dropped.empty() ? "" : "; " + format_bytes(report.dropped_bytes, style.exact_bytes)));
  if (report.dtype) {
    facts.add("converts", "to " + std::string(ckpt::dtype_name(*report.dtype)) + ", rounding to nearest, ties to even");
    if (report.written) facts.add("rounding", rounding_text(report.error, report.worst_tensor, report.overflowing));
  }
  if (!report.full_from.empty())
    facts.add("resume",
              "continues from " + escape(report.full_from) + ", not from this one: it has no " + named(report.dropped));
  std::string out = facts.render(style.palette) + "\n";
  if (!report.written) return out + "nothing written: --dry-run\n";
  out += style.palette.paint(Role::kOk, "wrote") + " " + escape(report.dst) + "  id " + report.new_id.hex() + "\n";
  if (!report.rewritten.empty()) out += "  " + ckpt::counted(report.rewritten.size(), "file") + " written anew\n";
  return out + carried_text(report.files, report.verified, style);
}

std::string strip_json(const ckpt::StripReport& report) {
  JsonOut json("titan.strip/1");
  json.path("source", report.src);
  json.path("destination", report.dst);
  json.members("written", report.written, "step", report.step, "source_id", report.old_id.hex());
  digest_json(json, "id", report.new_id);
  for (const auto& [key, names] : {std::pair("kept", &report.kept), std::pair("dropped", &report.dropped),
                                   std::pair("rewritten", &report.rewritten)})
    json.list(key, *names);
  json.count("dropped_bytes", report.dropped_bytes);
  if (report.dtype) {
    json.begin_object("conversion");
    json.members("dtype", ckpt::dtype_name(*report.dtype), "rounding", "nearest, ties to even");
    rounding_json(json, report.error, report.worst_tensor);
    json.end_object();
  }
  json.path("full_checkpoint", report.full_from);
  json.flag("verified", report.verified);
  carried_json(json, report.files);
  return json.document();
}

}  // namespace

ckpt::Result<Answer> run_strip(const Request& request) {
  const Command& command = request.command;
  ckpt::StripOptions options;
  options.src = command.positionals[0];
  options.dst = command.positionals[1];
  options.force = command.has("force");
  options.verify = command.has("verify");
  options.writer = version_line("titan-ckpt") + " strip";
  options.created = format_utc(std::time(nullptr));
  if (const auto keep = command.value("keep")) {
    if (*keep != ckpt::kModel)
      return wrong_value("keep", *keep, "model").with_hint("without --keep everything but the optimizer stays");
    options.keep = ckpt::StripKeep::kModel;
  }
  TITAN_RETURN_IF_ERROR(read_flag(command, "dtype", "bf16 or f32",
                                  word_of<ckpt::DType>({{"bf16", ckpt::DType::kBF16}, {"f32", ckpt::DType::kF32}}),
                                  options.dtype));
  const Work work(request, options, "strip");
  TITAN_ASSIGN_OR_RETURN(ckpt::StripReport report, ckpt::plan_strip(request.fs, options));
  if (!command.has("dry-run")) {
    TITAN_RETURN_IF_ERROR(ckpt::write_strip(request.fs, options, report));
  }
  return Answer{.text = request.json ? strip_json(report) : strip_text(report, request.style),
                .notes = report.warnings};
}

}  // namespace titan::cli
