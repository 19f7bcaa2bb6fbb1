#include "ckpt/base/text.h"
#include "cli/titan_ckpt/strip.h"

#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/titan_ckpt/carried.h"
#include "cli/titan_ckpt/rounding.h"

namespace titan::cli {
namespace {

std::string named(const std::vector<std::string>& names) {
  return names.empty() ? "nothing" : escape(ckpt::joined(names));
}

}  // namespace

std::string strip_text(const ckpt::StripReport& report, const TextStyle& style) {
  Facts facts;
  facts.add("source",
            escape(report.src) + " (step " + std::to_string(report.step) + ", id " + report.old_id.hex() + ")");
  facts.add("keeps", named(report.kept) + "; parameters " + format_bytes(report.model_bytes, style.exact_bytes));
  facts.add("drops", named(report.dropped) +
                         (report.dropped.empty() ? "" : "; " + format_bytes(report.dropped_bytes, style.exact_bytes)));
  if (report.dtype) {
    facts.add("converts", "to " + std::string(ckpt::dtype_name(*report.dtype)) + ", rounding to nearest, ties to even");
    if (report.written) facts.add("rounding", rounding_text(report.error, report.worst_tensor));
  }
  if (!report.full_from.empty())
    facts.add("resume",
              "goes on from " + escape(report.full_from) + ", not from this one: it has no " + named(report.dropped));
  std::string out = facts.render(style.palette) + "\n";
  if (!report.written) return out + "nothing written: --dry-run\n";
  out += style.palette.paint(Role::kOk, "wrote") + " " + escape(report.dst) + "  id " + report.new_id.hex() + "\n";
  if (!report.rewritten.empty())
    out += "  " + std::to_string(report.rewritten.size()) + (report.rewritten.size() == 1 ? " file" : " files") +
           " written anew\n";
  return out + carried_text(report.files, report.verified, style);
}

}  // namespace titan::cli
