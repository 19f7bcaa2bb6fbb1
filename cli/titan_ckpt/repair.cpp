#include "ckpt/base/printed.h"
#include "cli/titan_ckpt/verbs.h"

#include <ctime>

#include "ckpt/base/quoting.h"
#include "ckpt/ops/repair.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/json_out.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/kit/values.h"
#include "cli/kit/version.h"
#include "cli/kit/work.h"
#include "cli/titan_ckpt/verify.h"
#include "converters/foreign_view.h"

namespace titan::cli {
namespace {

std::string given_text(const ckpt::Donors::Contribution& given) {
  std::string what = given.leaves > 0 ? ckpt::counted(given.leaves, "leaf", "leaves") : "";
  if (given.files > 0) what += (what.empty() ? "" : ", ") + ckpt::counted(given.files, "file");
  return what + " from " + escape(given.path);
}

constexpr const char* kRepairFlags[] = {"from", "output", "force"};

ckpt::Status check_flags(const Command& command) {
  for (const char* flag : kRepairFlags)
    if (!command.has("repair") && command.has(flag))
      return ckpt::invalid(std::string("`--") + flag + "` is for `verify --repair`")
          .with_hint("`titan-ckpt verify CKPT --repair --from OTHER -o DST` makes a whole one of a damaged one");
  if (!command.has("output"))
    return ckpt::invalid("`verify --repair` needs `-o DST`, the checkpoint to be made")
        .with_hint("`titan-ckpt verify --help` shows its arguments");
  return ckpt::ok_status();
}

/// Returns `error`, or a better one if the source is a checkpoint of another program: it has no digests to repair by.
ckpt::Status explained(ckpt::Fs& fs, const std::string& source, const ckpt::Status& error) {
  if (error.code != ckpt::Code::kNotFound) return error;
  const auto format = convert::detect_format(fs, convert::resolve_any(fs, source));
  if (!format.ok() || *format == nullptr) return error;
  return ckpt::unsupported(source + " is a checkpoint in the form of " + (*format)->title() +
                           ", which `verify --repair` does not take: it has no digests to repair by")
      .with_hint("`titan-ckpt verify " + ckpt::shell_word(source) +
                 "` reads it; `titan-ckpt convert` makes such an export anew");
}

std::string repair_text(const ckpt::RepairReport& report, const TextStyle& style) {
  const Palette& palette = style.palette;
  if (report.whole())
    return palette.paint(Role::kOk, "ok") + "  " + escape(report.src) + "  nothing to repair, nothing written\n";
  std::string out = palette.paint(Role::kError, "damaged") + "  " + escape(report.src) + "  " +
                    ckpt::counted(report.places, "place") + "\n";
  for (const ckpt::Damage& place : report.lost) out += "  " + damage_line(place) + "\n";
  if (report.not_named > 0) out += "  and " + ckpt::counted(report.not_named, "place") + " more\n";
  if (!report.written)
    return out + "nothing written: " + ckpt::counted(report.lost.size() + report.not_named, "place is", "places are") +
           " lost\n";
  if (report.by_parity > 0) out += "  " + ckpt::counted(report.by_parity, "file") + " from parity\n";
  for (const ckpt::Donors::Contribution& given : report.given)
    if (given.leaves + given.files > 0) out += "  " + given_text(given) + "\n";
  return out + palette.paint(Role::kOk, "wrote") + "  " + escape(report.dst) + "  id " + report.id.hex() +
         ", verified; " + ckpt::counted(report.files.size(), "file") + " made anew\n";
}

std::string repair_json(const ckpt::RepairReport& report) {
  JsonOut json("titan.repair/1");
  json.path("source", report.src);
  json.path("destination", report.dst);
  json.members("written", report.written, "step", report.step);
  digest_json(json, "id", report.id);
  json.members("places", report.places, "files", report.files, "by_parity", report.by_parity);
  json.each("from", report.given, [&](const ckpt::Donors::Contribution& given) {
    json.path("path", given.path);
    json.members("leaves", given.leaves, "files", given.files);
  });
  json.each("lost", report.lost, [&](const ckpt::Damage& place) {
    json.path("file", place.file);
    json.members("unit", place.unit, "tensor", place.tensor, "leaf", place.leaf, "bytes", place.bytes, "detail",
                 place.detail);
  });
  json.members("not_named", report.not_named, "warnings", report.warnings);
  return json.document();
}

}  // namespace

bool asks_for_repair(const Command& command) {
  if (command.has("repair")) return true;
  for (const char* flag : kRepairFlags)
    if (command.has(flag)) return true;
  return false;
}

ckpt::Result<Answer> run_repair(const Request& request) {
  const Command& command = request.command;
  TITAN_RETURN_IF_ERROR(check_flags(command));
  ckpt::RepairOptions options;
  options.src = command.positionals[0];
  options.dst = *command.value("output");
  options.force = command.has("force");
  options.donors = command.all("from");
  options.writer = version_line("titan-ckpt") + " verify --repair";
  options.created = format_utc(std::time(nullptr));
  options.open = convert::open_any;
  options.resolve = convert::resolve_any;
  TITAN_ASSIGN_OR_RETURN(options.threads, thread_count(command));
  const Work work(request, options, "");
  const ckpt::Result<ckpt::RepairReport> report = ckpt::repair_checkpoint(request.fs, options);
  if (!report.ok()) return explained(request.fs, options.src, report.status());
  return Answer{.text = request.json ? repair_json(*report) : repair_text(*report, request.style),
                .notes = report->warnings,
                .exit_code = report->whole() || report->written ? 0 : 1};
}

}  // namespace titan::cli
