#include "ckpt/ops/reshard.h"

#include <charconv>
#include <chrono>
#include <ctime>

#include "cli/titan_ckpt/verbs.h"
#include "cli/ui/progress.h"
#include "cli/ui/stop.h"
#include "cli/ui/terminal.h"
#include "cli/ui/units.h"
#include "cli/ui/version.h"

namespace titan::cli {

namespace {

using ckpt::Result;
using ckpt::Status;

Status wrong(const char* flag, const std::string& text, const std::string& expected) {
  return ckpt::invalid("`--" + std::string(flag) + "` is `" + text + "`, expected " + expected);
}

/// Digits at the start of `text`, which loses them; nullopt where there are none or too many.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

Status read_degree(const ui::Command& command, const char* flag, std::optional<std::uint32_t>& degree) {
  const std::optional<std::string> text = command.value(flag);
  if (!text) return ckpt::ok_status();
  std::string_view rest = *text;
  const std::optional<std::uint64_t> value = take_number(rest);
  if (!value || !rest.empty() || *value == 0 || *value > ckpt::kMaxRanks)
    return wrong(flag, *text, "a degree from 1 to " + std::to_string(ckpt::kMaxRanks));
  degree = static_cast<std::uint32_t>(*value);
  return ckpt::ok_status();
}

Status read_memory(const ui::Command& command, std::uint64_t& bytes) {
  const std::optional<std::string> text = command.value("memory");
  if (!text) return ckpt::ok_status();
  std::string_view rest = *text;
  const std::optional<std::uint64_t> value = take_number(rest);
  int shift = -1;
  if (rest.empty()) shift = 0;
  if (rest == "KiB" || rest == "K") shift = 10;
  if (rest == "MiB" || rest == "M") shift = 20;
  if (rest == "GiB" || rest == "G") shift = 30;
  if (!value || shift < 0 || *value > std::uint64_t{1} << (62 - shift))
    return wrong("memory", *text, "bytes, or a number with KiB, MiB or GiB");
  bytes = *value << shift;
  return ckpt::ok_status();
}

Result<ckpt::ReshardOptions> read_options(const ui::Command& command) {
  ckpt::ReshardOptions options;
  options.source = command.positionals[0];
  options.dst = command.positionals[1];
  TITAN_RETURN_IF_ERROR(read_degree(command, "dp", options.target.dp));
  TITAN_RETURN_IF_ERROR(read_degree(command, "pp", options.target.pp));
  options.target.stages = command.value("stages").value_or("");
  if (command.has("stages") && options.target.stages.empty()) return wrong("stages", "", "a layout like Et*2|t*2L");
  if (const std::optional<std::string> codec = command.value("compression")) {
    if (*codec != "none" && *codec != "zstd") return wrong("compression", *codec, "none or zstd");
    options.target.codec = *codec == "none" ? ckpt::Codec::kRaw : ckpt::Codec::kZstd;
  }
  TITAN_RETURN_IF_ERROR(read_memory(command, options.memory));
  if (!options.target.dp && !options.target.pp && !command.has("stages") && !options.target.codec)
    return ckpt::invalid("nothing to change: give a mesh (--dp, --pp), --stages or --compression")
        .with_hint("titan-ckpt reshard SRC DST --dp 4 --pp 2");
  options.dry_run = command.has("dry-run");
  options.force = command.has("force");
  options.writer = ui::version_line("titan-ckpt");
  options.created = ui::format_utc(std::time(nullptr));
  return options;
}

}  // namespace

Answer run_reshard(const Request& request) {
  Result<ckpt::ReshardOptions> options = read_options(request.command);
  if (!options.ok()) return {.error = options.status()};
  options->cancel = ui::stop_on_signals();
  ui::Progress progress(!request.json);
  progress.begin("reshard " + options->dst);
  options->progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  const auto start = std::chrono::steady_clock::now();
  const Result<ckpt::ReshardReport> report = ckpt::reshard_checkpoint(request.fs, *options);
  progress.erase();
  if (!report.ok()) return {.error = report.status()};
  Answer answer{.text = request.json ? ui::reshard_json(*report) : ui::reshard_text(*report, request.style),
                .notes = report->warnings};
  if (report->hidden_from_resume && !report->dry_run)
    answer.notes.push_back("a resume finds checkpoints that are named step-%08d only: name " + report->dst +
                           " on the command line to start from it");
  // Times differ from run to run, so that only people see them.
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (ui::progress_possible() && !report->dry_run && seconds > 0)
    answer.notes.push_back(ui::format_bytes(report->bytes) + " in " + ui::format_duration(seconds) + ", " +
                           ui::format_bytes(static_cast<std::uint64_t>(static_cast<double>(report->bytes) / seconds)) +
                           "/s");
  return answer;
}

}  // namespace titan::cli
