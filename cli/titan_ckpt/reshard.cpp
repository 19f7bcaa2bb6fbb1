#include <chrono>
#include <ctime>
#include <string>

#include "ckpt/base/printed.h"
#include "ckpt/ops/reshard.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/json_out.h"
#include "cli/kit/table.h"
#include "cli/kit/terminal.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/kit/values.h"
#include "cli/kit/version.h"
#include "cli/kit/work.h"
#include "cli/titan_ckpt/verbs.h"

namespace titan::cli {
namespace {

using ckpt::ReshardReport;
using ckpt::Result;
using ckpt::StorageLayout;

std::optional<std::uint64_t> memory_of(const std::string& text) {
  const std::optional<std::uint64_t> bytes = parse_bytes(text);
  return bytes && *bytes <= std::uint64_t{1} << 62 ? bytes : std::nullopt;
}

Result<ckpt::ReshardOptions> read_options(const Command& command) {
  ckpt::ReshardOptions options;
  options.source = command.positionals[0];
  options.dst = command.positionals[1];
  for (const auto& [flag, degree] : {std::pair("dp", &options.target.dp), std::pair("pp", &options.target.pp)})
    TITAN_RETURN_IF_ERROR(read_flag(command, flag, "a degree from 1 to " + std::to_string(ckpt::kMaxRanks),
                                    number_from(1u, ckpt::kMaxRanks), *degree));
  options.target.stages = command.value("stages").value_or("");
  if (command.has("stages") && options.target.stages.empty())
    return wrong_value("stages", "", "a layout like Et*2|t*2L");
  TITAN_RETURN_IF_ERROR(
      read_flag(command, "placement", "loop or v",
                word_of<ckpt::Placement>({{"loop", ckpt::Placement::kLoop}, {"v", ckpt::Placement::kV}}),
                options.target.placement));
  TITAN_RETURN_IF_ERROR(read_flag(command, "compression", "none or zstd",
                                  word_of<ckpt::Codec>({{"none", ckpt::Codec::kRaw}, {"zstd", ckpt::Codec::kZstd}}),
                                  options.target.codec));
  TITAN_RETURN_IF_ERROR(
      read_flag(command, "memory", "bytes, or a number with KiB, MiB or GiB", memory_of, options.memory));
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

/// "4x2 -> 8x4", or just "4x2 (as it was)".
std::string change(const std::string& before, const std::string& after) {
  return before == after ? before + " (as it was)" : before + " -> " + after;
}

std::string recoded(const ReshardReport& report) {
  std::string text;
  if (report.to_encode > 0) text = ckpt::counted(report.to_encode, "leaf", "leaves") + " to compress";
  if (report.to_decode > 0)
    text += (text.empty() ? "" : ", ") + ckpt::counted(report.to_decode, "leaf", "leaves") + " to decode";
  return text.empty() ? "nothing: stored leaves are moved as they are" : text;
}

std::string reshard_text(const ReshardReport& report, const TextStyle& style) {
  const auto bytes = [&](std::uint64_t value) { return format_bytes(value, style.exact_bytes); };
  Facts facts;
  facts.add("from", escape(report.source) + " step " + std::to_string(report.step));
  facts.add("to", escape(report.dst) + (report.dry_run ? " (dry run: nothing was written)" : ""));
  facts.add("mesh", change(mesh_text(report.before.mesh), mesh_text(report.after.mesh)) + "  (DP x PP)");
  if (!report.after.stages.empty()) facts.add("stages", change(report.before.stages, report.after.stages));
  facts.add("compression", change(report.before.codec, report.after.codec));
  facts.add("files", change(format_count(report.before.files), format_count(report.after.files)));
  if (report.after.stored_bytes > 0)
    facts.add("stored", change(bytes(report.before.stored_bytes), bytes(report.after.stored_bytes)));
  facts.add(report.dry_run ? "to move" : "moved", bytes(report.bytes) + ", " +
                                                      ckpt::counted(report.leaves, "leaf", "leaves") + " in " +
                                                      ckpt::counted(report.ranges, "range"));
  facts.add("recoded", report.dry_run || report.to_encode + report.to_decode == 0
                           ? recoded(report)
                           : ckpt::counted(report.moved.encoded, "leaf", "leaves") + " compressed, " +
                                 ckpt::counted(report.moved.decoded, "leaf", "leaves") + " decoded");
  facts.add("memory", "at most " + bytes(report.memory) + " in " + ckpt::counted(report.threads, "thread"));
  facts.add("id", report.id.hex() + (report.dry_run ? "" : " (before and after)"));
  for (const std::string& path : report.carried) facts.add("carried", escape(path) + " (came with the model)");
  std::string text = facts.render(style.palette);
  if (!report.dry_run) return text;
  Table files({{"file"}, {"pieces", Align::kRight}, {"leaves", Align::kRight}, {"bytes", Align::kRight}});
  for (const ckpt::ReshardedFile& file : report.files)
    files.row({escape(file.path), format_count(file.pieces), format_count(file.leaves), bytes(file.bytes)});
  return text + "\n" + files.render(style.palette);
}

void layout_json(JsonOut& json, std::string_view key, const StorageLayout& layout) {
  json.begin_object(key);
  mesh_json(json, "mesh", layout.mesh);
  json.text_or_null("stages", layout.stages);
  json.members("compression", layout.codec, "files", layout.files);
  json.members("stored_bytes", layout.stored_bytes == 0 ? std::nullopt : std::optional(layout.stored_bytes));
  json.end_object();
}

std::string reshard_json(const ReshardReport& report) {
  JsonOut json("titan.reshard/1");
  json.path("source", report.source);
  json.path("path", report.dst);
  json.members("dry_run", report.dry_run, "id", report.id.hex(), "step", report.step);
  layout_json(json, "before", report.before);
  layout_json(json, "after", report.after);
  json.members("leaves", report.leaves, "bytes", report.bytes, "ranges", report.ranges, "to_encode", report.to_encode);
  json.members("to_decode", report.to_decode, "encoded", report.moved.encoded, "decoded", report.moved.decoded);
  json.members("memory", report.memory, "threads", report.threads, "hidden_from_resume", report.hidden_from_resume);
  json.each("files", report.files, [&](const ckpt::ReshardedFile& file) {
    json.path("path", file.path);
    json.members("pieces", file.pieces, "leaves", file.leaves, "bytes", file.bytes);
  });
  json.begin_array("left_behind");  // always empty since derived files are carried; kept for scripts that read it
  json.end_array();
  json.members("carried", report.carried, "warnings", report.warnings);
  return json.document();
}

}  // namespace

ckpt::Result<Answer> run_reshard(const Request& request) {
  TITAN_ASSIGN_OR_RETURN(ckpt::ReshardOptions options, read_options(request.command));
  const Work work(request, options, "reshard " + options.dst);
  const auto start = std::chrono::steady_clock::now();
  TITAN_ASSIGN_OR_RETURN(const ckpt::ReshardReport report, ckpt::reshard_checkpoint(request.fs, options));
  Answer answer{.text = request.json ? reshard_json(report) : reshard_text(report, request.style),
                .notes = report.warnings};
  if (report.hidden_from_resume && !report.dry_run)
    answer.notes.push_back("a resume finds checkpoints that are named step-%08d only: name " + report.dst +
                           " on the command line to start from it");
  // Times differ between runs, so they are only in the text, not in the JSON.
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (progress_possible() && !report.dry_run && seconds > 0)
    answer.notes.push_back(format_bytes(report.bytes) + " in " + format_duration(seconds) + ", " +
                           format_bytes(static_cast<std::uint64_t>(static_cast<double>(report.bytes) / seconds)) +
                           "/s");
  return answer;
}

}  // namespace titan::cli
