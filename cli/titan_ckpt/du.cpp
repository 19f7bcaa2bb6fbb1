#include "ckpt/base/printed.h"
#include "cli/titan_ckpt/verbs.h"

#include "ckpt/base/quoting.h"
#include "ckpt/ops/du.h"
#include "cli/kit/json_out.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"

namespace titan::cli {
namespace {

std::string prune_command(const ckpt::RunDisk& disk, const ckpt::DiskWay& way) {
  return "titan-ckpt prune " + ckpt::shell_word(disk.run) + (way.flags.empty() ? "" : " " + way.flags);
}

std::string run_text(const ckpt::RunDisk& disk, const TextStyle& style) {
  std::string out = style.palette.paint(Role::kName, escape(disk.run)) + "  " + ckpt::counted(disk.steps, "step") +
                    ", " + std::to_string(disk.full) + " full\n";
  Table table({{}, {"files", Align::kRight}, {"size", Align::kRight}, {"once", Align::kRight}});
  for (const ckpt::DiskRow& row : disk.rows)
    table.row({row.name, std::to_string(row.files), format_bytes(row.bytes, style.exact_bytes),
               format_bytes(row.once, style.exact_bytes)});
  out += table.render(style.palette, "  ");
  if (disk.ways.empty()) return out;
  Table ways({{"would free", Align::kRight}, {}});
  for (const ckpt::DiskWay& way : disk.ways)
    ways.row({format_bytes(way.frees, style.exact_bytes), escape(prune_command(disk, way))});
  return out + ways.render(style.palette, "  ");
}

std::string du_text(const ckpt::DuReport& report, const TextStyle& style) {
  std::string out;
  for (const ckpt::RunDisk& disk : report.runs) out += run_text(disk, style);
  out += "total " + format_bytes(report.once, style.exact_bytes);
  if (report.bytes > report.once)
    out +=
        "; " + format_bytes(report.bytes - report.once, style.exact_bytes) + " more are second names of the same files";
  return out + "\n";
}

std::string du_json(const ckpt::DuReport& report) {
  JsonOut json("titan.du/1");
  json.each("runs", report.runs, [&](const ckpt::RunDisk& disk) {
    json.path("run", disk.run);
    json.path("folder", disk.folder);
    json.members("steps", disk.steps, "full", disk.full);
    json.each("components", disk.rows, [&](const ckpt::DiskRow& row) {
      json.members("name", row.name, "files", row.files, "bytes", row.bytes, "once", row.once);
    });
    json.each("ways", disk.ways, [&](const ckpt::DiskWay& way) {
      json.members("flags", way.flags, "command", prune_command(disk, way), "frees", way.frees);
    });
  });
  json.members("bytes", report.bytes, "once", report.once);
  return json.document();
}

}  // namespace

ckpt::Result<Answer> run_du(const Request& request) {
  TITAN_ASSIGN_OR_RETURN(const ckpt::DuReport report, ckpt::disk_of_runs(request.fs, request.command.positionals));
  return Answer{.text = request.json ? du_json(report) : du_text(report, request.style)};
}

}  // namespace titan::cli
