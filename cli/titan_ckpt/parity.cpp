#include "ckpt/base/printed.h"
#include "cli/titan_ckpt/verbs.h"

#include "ckpt/format/parity_file.h"
#include "ckpt/ops/parity_set.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/kit/values.h"
#include "cli/kit/work.h"

namespace titan::cli {
namespace {

std::string parity_text(const ckpt::ParityReport& report, const TextStyle& style) {
  const std::string path = escape(report.path);
  if (!report.changed && report.after == 0) return path + " has no parity files\n";
  const std::string lost = ckpt::counted(report.after, "file");
  if (!report.changed) return path + " has parity files already: any " + lost + " of it may be lost\n";
  if (report.after == 0) return path + " has no parity files any more\n";
  return style.palette.paint(Role::kOk, "wrote") + "  " + path + "  " + ckpt::counted(report.files, "parity file") +
         ", " + format_bytes(report.bytes, style.exact_bytes) + ": any " + lost + " of it may be lost; id " +
         report.id.hex() + " as before\n";
}

std::string parity_json(const ckpt::ParityReport& report) {
  JsonOut json("titan.parity/1");
  json.path("path", report.path);
  digest_json(json, "id", report.id);
  json.members("changed", report.changed, "before", report.before, "after", report.after);
  json.members("files", report.files, "bytes", report.bytes, "warnings", report.warnings);
  return json.document();
}

}  // namespace

ckpt::Result<Answer> run_parity(const Request& request) {
  const Command& command = request.command;
  ckpt::ParityOptions options;
  options.ckpt = command.positionals[0];
  if (command.value("files").value_or("").empty())
    return ckpt::invalid("`parity` needs `--files P`, how many files of the checkpoint may be lost")
        .with_hint("`titan-ckpt parity --help` shows its arguments");
  TITAN_RETURN_IF_ERROR(read_flag(command, "files", "0 to " + std::to_string(ckpt::kMostParity),
                                  number_from(0u, ckpt::kMostParity), options.files));
  TITAN_ASSIGN_OR_RETURN(options.threads, thread_count(command));
  const Work work(request, options, "parity");
  TITAN_ASSIGN_OR_RETURN(const ckpt::ParityReport report, ckpt::set_parity(request.fs, options));
  return Answer{.text = request.json ? parity_json(report) : parity_text(report, request.style),
                .notes = report.warnings};
}

}  // namespace titan::cli
