#include "cli/titan_ckpt/patch.h"

#include "cli/kit/flag_values.h"
#include "cli/kit/progress.h"
#include "cli/kit/stop.h"
#include "cli/kit/version.h"

namespace titan::cli {
namespace {

ckpt::Result<std::string> output_of(const Command& command, const char* verb, const char* what) {
  if (const std::optional<std::string> out = command.value("output")) return *out;
  return ckpt::invalid(std::string("`") + verb + "` needs " + what)
      .with_hint(std::string("`titan-ckpt ") + verb + " --help` shows its arguments");
}

}  // namespace

Answer run_patch(const Request& request) {
  const Command& command = request.command;
  convert::PatchOptions options{.base = command.positionals[0], .target = command.positionals[1]};
  TITAN_ASSIGN_OR_ANSWER(options.output, output_of(command, "patch", "`-o P`, the patch to be made"));
  TITAN_ASSIGN_OR_ANSWER(options.threads, thread_count(command));
  options.force = command.has("force");
  options.writer = version_line("titan-ckpt") + " patch";
  options.cancel = stop_on_signals();
  Progress progress(!request.json);
  progress.begin("patch");
  options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  const ckpt::Result<convert::PatchReport> report = convert::make_patch(request.fs, options);
  progress.erase();
  if (!report.ok()) return {.error = report.status()};
  return {.text = request.json ? patch_json(*report) : patch_text(*report, request.style), .notes = report->notes};
}

Answer run_apply(const Request& request) {
  const Command& command = request.command;
  convert::ApplyOptions options{.base = command.positionals[0], .patch = command.positionals[1]};
  TITAN_ASSIGN_OR_ANSWER(options.output, output_of(command, "apply", "`-o B`, the checkpoint to be made"));
  TITAN_ASSIGN_OR_ANSWER(options.threads, thread_count(command));
  options.force = command.has("force");
  options.cancel = stop_on_signals();
  Progress progress(!request.json);
  progress.begin("apply");
  options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  const ckpt::Result<convert::ApplyReport> report = convert::apply_patch(request.fs, options);
  progress.erase();
  if (!report.ok()) return {.error = report.status()};
  return {.text = request.json ? apply_json(*report) : apply_text(*report, request.style), .notes = report->notes};
}

}  // namespace titan::cli
