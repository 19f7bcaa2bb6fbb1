#include "ckpt/base/printed.h"
#include "cli/titan_ckpt/verbs.h"

#include "cli/kit/flag_values.h"
#include "cli/kit/output.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/kit/values.h"
#include "cli/kit/version.h"
#include "cli/kit/work.h"
#include "converters/patch/apply_patch.h"
#include "converters/patch/make_patch.h"

namespace titan::cli {
namespace {

void side_json(JsonOut& json, const char* key, const convert::PatchSide& side, const std::string& path) {
  json.begin_object(key);
  json.path("path", path);
  json.members("format", side.kind);
  digest_json(json, "id", side.id);
  json.end_object();
}

ckpt::Result<std::string> output_of(const Command& command, const char* verb, const char* what) {
  if (const std::optional<std::string> out = command.value("output")) return *out;
  return ckpt::invalid(std::string("`") + verb + "` needs " + what)
      .with_hint(std::string("`titan-ckpt ") + verb + " --help` shows its arguments");
}

std::string patch_text(const convert::PatchReport& report, const TextStyle& style) {
  Facts facts;
  facts.add("from", escape(report.base) + "  id " + report.base_side.id.hex());
  facts.add("to", escape(report.target) + "  id " + report.target_side.id.hex());
  facts.add("tensors", format_count(report.tensors) + ", " + format_count(report.equal_tensors) + " of them equal" +
                           (report.whole_tensors == 0 ? "" : ", " + format_count(report.whole_tensors) + " whole"));
  const double share =
      report.target_bytes == 0 ? 1 : static_cast<double>(report.patch_bytes) / static_cast<double>(report.target_bytes);
  return facts.render(style.palette) + "\n" + style.palette.paint(Role::kOk, "wrote") + "  " + escape(report.output) +
         "  " + format_bytes(report.patch_bytes, style.exact_bytes) + ", " + format_share(share) + " of " +
         format_bytes(report.target_bytes, style.exact_bytes) + "\n";
}

std::string apply_text(const convert::ApplyReport& report, const TextStyle& style) {
  return style.palette.paint(Role::kOk, "wrote") + "  " + escape(report.output) + "  id " + report.target.id.hex() +
         ", " + ckpt::counted(report.files, "file") + ", " + format_bytes(report.bytes, style.exact_bytes) +
         ", read again and proved\n";
}

std::string patch_json(const convert::PatchReport& report) {
  JsonOut json("titan.patch/1");
  json.path("patch", report.output);
  side_json(json, "base", report.base_side, report.base);
  side_json(json, "target", report.target_side, report.target);
  json.members("target_bytes", report.target_bytes, "patch_bytes", report.patch_bytes, "tensors", report.tensors,
               "equal_tensors", report.equal_tensors, "whole_tensors", report.whole_tensors, "notes", report.notes);
  return json.document();
}

std::string apply_json(const convert::ApplyReport& report) {
  JsonOut json("titan.apply/1");
  json.path("base", report.base);
  json.path("patch", report.patch);
  json.path("destination", report.output);
  json.members("format", report.target.kind);
  digest_json(json, "id", report.target.id);
  json.members("bytes", report.bytes, "patch_bytes", report.patch_bytes, "files", report.files, "notes", report.notes);
  return json.document();
}

}  // namespace

ckpt::Result<Answer> run_patch(const Request& request) {
  const Command& command = request.command;
  convert::PatchOptions options{.base = command.positionals[0], .target = command.positionals[1]};
  TITAN_ASSIGN_OR_RETURN(options.output, output_of(command, "patch", "`-o P`, the patch to be made"));
  TITAN_ASSIGN_OR_RETURN(options.threads, thread_count(command));
  options.force = command.has("force");
  options.writer = version_line("titan-ckpt") + " patch";
  const Work work(request, options, "patch");
  TITAN_ASSIGN_OR_RETURN(const convert::PatchReport report, convert::make_patch(request.fs, options));
  return Answer{.text = request.json ? patch_json(report) : patch_text(report, request.style), .notes = report.notes};
}

ckpt::Result<Answer> run_apply(const Request& request) {
  const Command& command = request.command;
  convert::ApplyOptions options{.base = command.positionals[0], .patch = command.positionals[1]};
  TITAN_ASSIGN_OR_RETURN(options.output, output_of(command, "apply", "`-o B`, the checkpoint to be made"));
  TITAN_ASSIGN_OR_RETURN(options.threads, thread_count(command));
  options.force = command.has("force");
  const Work work(request, options, "apply");
  TITAN_ASSIGN_OR_RETURN(const convert::ApplyReport report, convert::apply_patch(request.fs, options));
  return Answer{.text = request.json ? apply_json(report) : apply_text(report, request.style), .notes = report.notes};
}

}  // namespace titan::cli
