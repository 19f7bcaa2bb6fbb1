#include "cli/titan_ckpt/reshard.h"

#include <chrono>
#include <ctime>

#include "ckpt/base/text.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/terminal.h"
#include "cli/kit/units.h"
#include "cli/kit/version.h"
#include "cli/kit/work.h"
#include "cli/titan_ckpt/verbs.h"

namespace titan::cli {

namespace {

using ckpt::Result;
using ckpt::Status;

Status read_degree(const Command& command, const char* flag, std::optional<std::uint32_t>& degree) {
  const std::optional<std::string> text = command.value(flag);
  if (!text) return ckpt::ok_status();
  const std::optional<std::uint64_t> value = ckpt::number_of<std::uint64_t>(*text);
  if (!value || *value == 0 || *value > ckpt::kMaxRanks)
    return wrong_value(flag, *text, "a degree from 1 to " + std::to_string(ckpt::kMaxRanks));
  degree = static_cast<std::uint32_t>(*value);
  return ckpt::ok_status();
}

Status read_memory(const Command& command, std::uint64_t& bytes) {
  const std::optional<std::string> text = command.value("memory");
  if (!text) return ckpt::ok_status();
  const std::optional<std::uint64_t> value = parse_bytes(*text);
  if (!value || *value > std::uint64_t{1} << 62)
    return wrong_value("memory", *text, "bytes, or a number with KiB, MiB or GiB");
  bytes = *value;
  return ckpt::ok_status();
}

Result<ckpt::ReshardOptions> read_options(const Command& command) {
  ckpt::ReshardOptions options;
  options.source = command.positionals[0];
  options.dst = command.positionals[1];
  TITAN_RETURN_IF_ERROR(read_degree(command, "dp", options.target.dp));
  TITAN_RETURN_IF_ERROR(read_degree(command, "pp", options.target.pp));
  options.target.stages = command.value("stages").value_or("");
  if (command.has("stages") && options.target.stages.empty())
    return wrong_value("stages", "", "a layout like Et*2|t*2L");
  if (const std::optional<std::string> placement = command.value("placement")) {
    if (*placement != "loop" && *placement != "v") return wrong_value("placement", *placement, "loop or v");
    options.target.placement = *placement == "v" ? ckpt::Placement::kV : ckpt::Placement::kLoop;
  }
  if (const std::optional<std::string> codec = command.value("compression")) {
    if (*codec != "none" && *codec != "zstd") return wrong_value("compression", *codec, "none or zstd");
    options.target.codec = *codec == "none" ? ckpt::Codec::kRaw : ckpt::Codec::kZstd;
  }
  TITAN_RETURN_IF_ERROR(read_memory(command, options.memory));
  TITAN_ASSIGN_OR_RETURN(options.threads, thread_count(command));
  if (!options.target.dp && !options.target.pp && !command.has("stages") && !options.target.placement &&
      !options.target.codec)
    return ckpt::invalid("nothing to change: give a mesh (--dp, --pp), --stages, --placement or --compression")
        .with_hint("titan-ckpt reshard SRC DST --dp 4 --pp 2");
  options.dry_run = command.has("dry-run");
  options.force = command.has("force");
  options.writer = version_line("titan-ckpt");
  options.created = format_utc(std::time(nullptr));
  return options;
}

}  // namespace

Answer run_reshard(const Request& request) {
  Result<ckpt::ReshardOptions> options = read_options(request.command);
  if (!options.ok()) return {.error = options.status()};
  const Work work(request, *options, "reshard " + options->dst);
  const auto start = std::chrono::steady_clock::now();
  const Result<ckpt::ReshardReport> report = ckpt::reshard_checkpoint(request.fs, *options);
  if (!report.ok()) return {.error = report.status()};
  Answer answer{.text = request.json ? reshard_json(*report) : reshard_text(*report, request.style),
                .notes = report->warnings};
  if (report->hidden_from_resume && !report->dry_run)
    answer.notes.push_back("a resume finds checkpoints that are named step-%08d only: name " + report->dst +
                           " on the command line to start from it");
  // Times differ from run to run, so that only people see them.
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (progress_possible() && !report->dry_run && seconds > 0)
    answer.notes.push_back(format_bytes(report->bytes) + " in " + format_duration(seconds) + ", " +
                           format_bytes(static_cast<std::uint64_t>(static_cast<double>(report->bytes) / seconds)) +
                           "/s");
  return answer;
}

}  // namespace titan::cli
