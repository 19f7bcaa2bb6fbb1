#include "cli/titan_ckpt/convert.h"

#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/kit/values.h"
#include "cli/titan_ckpt/carried.h"

namespace titan::cli {
namespace {

using convert::ConversionReport;
using convert::Fate;
using convert::TensorReport;

std::string what_of(const TensorReport& tensor) {
  if (tensor.fate == Fate::kTied) return "tied to " + escape(tensor.to);
  if (tensor.fate != Fate::kWritten) return convert::fate_name(tensor.fate);
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (tensor.permuted) add("rows permuted");
  if (tensor.cast()) add("cast to " + convert::type_name(tensor));
  return text;
}

std::string summary(const ConversionReport& report) {
  const auto count = [&](auto test) { return report.count(test); };
  std::string text = format_count(count([](const TensorReport& t) { return t.fate == Fate::kWritten; })) +
                     (report.dry_run ? " would be written" : " written");
  const auto add = [&](std::uint64_t n, const char* what) {
    if (n > 0) text += ", " + format_count(n) + " " + what;
  };
  add(count([](const TensorReport& t) { return t.renamed(); }), "renamed");
  add(count([](const TensorReport& t) { return t.fate == Fate::kWritten && t.permuted; }), "permuted");
  add(count([](const TensorReport& t) { return t.cast(); }), "cast");
  add(count([](const TensorReport& t) { return t.fate == Fate::kTied; }), "tied");
  add(count([](const TensorReport& t) { return t.fate == Fate::kDropped; }), "dropped");
  add(count([](const TensorReport& t) { return t.fate == Fate::kSkipped; }), "skipped");
  return text;
}

// Whether `tensor` is optimizer state that was dropped. The table leaves these out; a note gives their number.
bool is_dropped_moment(const TensorReport& tensor) {
  return tensor.fate == Fate::kDropped && (tensor.from.starts_with("optimizer.") || tensor.from.ends_with(".exp_avg") ||
                                           tensor.from.ends_with(".exp_avg_sq"));
}

// The table of tensors: all of them in a dry run, else those without a counterpart in the destination.
std::string tensor_table(const ConversionReport& report, const TextStyle& style) {
  constexpr std::size_t kShown = 12;  // maximum number of rows, except in a dry run
  Table table({{"tensor"}, {"becomes"}, {"dtype"}, {"shape"}, {""}});
  std::size_t rows = 0;
  for (const TensorReport& tensor : report.tensors) {
    if (!report.dry_run && (tensor.fate == Fate::kWritten || is_dropped_moment(tensor))) continue;
    if (++rows > kShown && !report.dry_run) continue;
    table.row({escape(tensor.from),
               tensor.fate == Fate::kWritten ? Cell(escape(tensor.to)) : Cell("-", Role::kDim),
               std::string(ckpt::dtype_name(tensor.from_dtype)),
               shape_text(tensor.shape),
               {what_of(tensor), Role::kDim}});
  }
  const std::string more = rows > kShown && !report.dry_run
                               ? "and " + format_count(rows - kShown) + " more (--dry-run and --json list all)\n"
                               : "";
  return table.empty() ? "" : "\n" + table.render(style.palette) + more;
}

}  // namespace

std::string convert_text(const ConversionReport& report, const TextStyle& style) {
  Facts facts;
  facts.add("from", escape(report.source) + " (" + report.from_format + ")");
  facts.add("to", escape(report.destination) + " (" + report.to_format + ")" +
                      (report.dry_run ? ", dry run: nothing is written" : ""));
  facts.add("step", format_count(report.step));
  if (report.id) facts.add("id", report.id->hex());
  facts.add("tensors", summary(report));
  if (report.rounding)
    facts.add("rounding", rounding_text(report.rounding->error, report.rounding->tensor, report.rounding->overflowing));
  facts.add("size", format_bytes(report.bytes, style.exact_bytes));
  if (!report.files.empty()) facts.add("files", format_count(report.files.size()));
  for (const std::string& note : report.notes) facts.add("note", escape(note));
  return facts.render(style.palette) + tensor_table(report, style);
}

}  // namespace titan::cli
