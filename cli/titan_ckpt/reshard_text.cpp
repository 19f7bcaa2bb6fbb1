#include "cli/titan_ckpt/reshard.h"

#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/kit/values.h"

namespace titan::cli {
namespace {

using ckpt::ReshardReport;

std::string counted(std::uint64_t count, const char* one, const char* many) {
  return format_count(count) + " " + (count == 1 ? one : many);
}

/// "4x2 -> 8x4", or just "4x2 (as it was)".
std::string change(const std::string& before, const std::string& after) {
  return before == after ? before + " (as it was)" : before + " -> " + after;
}

std::string recoded(const ReshardReport& report) {
  std::string text;
  if (report.to_encode > 0) text = counted(report.to_encode, "leaf", "leaves") + " to compress";
  if (report.to_decode > 0)
    text += (text.empty() ? "" : ", ") + counted(report.to_decode, "leaf", "leaves") + " to decode";
  return text.empty() ? "nothing: stored leaves are moved as they are" : text;
}

}  // namespace

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
                                                      counted(report.leaves, "leaf", "leaves") + " in " +
                                                      counted(report.ranges, "range", "ranges"));
  facts.add("recoded", report.dry_run || report.to_encode + report.to_decode == 0
                           ? recoded(report)
                           : counted(report.moved.encoded, "leaf", "leaves") + " compressed, " +
                                 counted(report.moved.decoded, "leaf", "leaves") + " decoded");
  facts.add("memory", "at most " + bytes(report.memory) + " in " + counted(report.threads, "thread", "threads"));
  facts.add("id", report.id.hex() + (report.dry_run ? "" : " (before and after)"));
  for (const std::string& path : report.carried) facts.add("carried", escape(path) + " (came with the model)");
  std::string text = facts.render(style.palette);
  if (!report.dry_run) return text;
  Table files({{"file"}, {"pieces", Align::kRight}, {"leaves", Align::kRight}, {"bytes", Align::kRight}});
  for (const ckpt::ReshardedFile& file : report.files)
    files.row({escape(file.path), format_count(file.pieces), format_count(file.leaves), bytes(file.bytes)});
  return text + "\n" + files.render(style.palette);
}

}  // namespace titan::cli
