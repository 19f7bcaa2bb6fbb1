#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/titan_ckpt/patch.h"

namespace titan::cli {

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
         ", " + format_counted(report.files, "file", "files") + ", " + format_bytes(report.bytes, style.exact_bytes) +
         ", read again and proved\n";
}

}  // namespace titan::cli
