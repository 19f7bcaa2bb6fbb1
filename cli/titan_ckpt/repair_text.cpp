#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/titan_ckpt/damage_text.h"
#include "cli/titan_ckpt/repair.h"

namespace titan::cli {
namespace {

std::string given_text(const ckpt::Donors::Given& given) {
  std::string what = given.leaves > 0 ? format_counted(given.leaves, "leaf", "leaves") : "";
  if (given.files > 0) what += (what.empty() ? "" : ", ") + format_counted(given.files, "file", "files");
  return what + " from " + escape(given.path);
}

}  // namespace

std::string repair_text(const ckpt::RepairReport& report, const TextStyle& style) {
  const Palette& palette = style.palette;
  if (report.whole())
    return palette.paint(Role::kOk, "ok") + "  " + escape(report.src) + "  nothing to repair, nothing written\n";
  std::string out = palette.paint(Role::kError, "damaged") + "  " + escape(report.src) + "  " +
                    format_counted(report.places, "place", "places") + "\n";
  for (const ckpt::Damage& place : report.lost) out += "  " + damage_line(place) + "\n";
  if (report.not_named > 0) out += "  and " + format_counted(report.not_named, "place", "places") + " more\n";
  if (!report.written)
    return out + "nothing written: " + format_counted(report.lost.size() + report.not_named, "place is", "places are") +
           " lost\n";
  if (report.by_parity > 0) out += "  " + format_counted(report.by_parity, "file", "files") + " from parity\n";
  for (const ckpt::Donors::Given& given : report.given)
    if (given.leaves + given.files > 0) out += "  " + given_text(given) + "\n";
  return out + palette.paint(Role::kOk, "wrote") + "  " + escape(report.dst) + "  id " + report.id.hex() +
         ", verified; " + format_counted(report.files.size(), "file", "files") + " made anew\n";
}

}  // namespace titan::cli
