#include "ckpt/base/text.h"
#include "cli/titan_ckpt/cat.h"

#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/kit/values.h"

namespace titan::cli {
namespace {

using ckpt::CatReport;

}  // namespace

std::string slice_text(const ckpt::Slice& slice) {
  std::string text = "[";
  for (const ckpt::Slice::Extent& extent : slice.extents)
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent.begin) +
            (extent.dropped ? "" : ":" + std::to_string(extent.end));
  return text + "]";
}

std::string cat_text(const CatReport& report, const TextStyle& style) {
  const ckpt::TensorRow& t = report.tensor;
  Facts facts;
  facts.add("tensor", escape(t.name) + " (" + t.component + ", stage " + std::to_string(t.stage) + ")");
  facts.add("checkpoint", escape(report.path) + " step " + std::to_string(report.step));
  facts.add("dtype", std::string(ckpt::dtype_name(t.dtype)));
  facts.add("shape", shape_text(t.shape));
  if (!report.slice.whole() || report.slice.shape() != t.shape)
    facts.add("slice", slice_text(report.slice) + " -> " + shape_text(report.slice.shape()));
  facts.add("elements", format_count(report.elements));
  facts.add("size", format_bytes(report.elements * ckpt::dtype_size(t.dtype), style.exact_bytes));
  facts.add("leaves", format_count(t.leaves));
  facts.add("digest", digest_text(t.digest));
  if (report.last.empty()) {
    facts.add("values", ckpt::joined(report.first, " "));
  } else {
    facts.add("first", ckpt::joined(report.first, " "));
    facts.add("last", ckpt::joined(report.last, " "));
  }
  if (!report.out.empty()) {
    std::string what = escape(report.out) + "  " + format_bytes(report.out_bytes, style.exact_bytes);
    if (report.out_dtype != t.dtype)
      what += "  " + std::string(ckpt::dtype_name(t.dtype)) + " widened to " +
              std::string(ckpt::dtype_name(report.out_dtype)) + " (exact)";
    facts.add("written", what);
  }
  return facts.render(style.palette);
}

}  // namespace titan::cli
