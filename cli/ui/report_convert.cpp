#include "cli/ui/reports.h"
#include "cli/ui/table.h"
#include "cli/ui/text.h"
#include "cli/ui/units.h"

namespace titan::ui {

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
  if (tensor.cast()) add("cast to " + std::string(ckpt::dtype_name(tensor.to_dtype)));
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

// The tensors one by one: all of them in a dry run, else those that did not become tensors of the destination.
std::string tensor_table(const ConversionReport& report, const TextStyle& style) {
  constexpr std::size_t kShown = 12;  // of a real run's; an optimizer has hundreds of tensors that an export drops
  Table table({{"tensor"}, {"becomes"}, {"dtype"}, {"shape"}, {""}});
  std::size_t rows = 0;
  for (const TensorReport& tensor : report.tensors) {
    if (!report.dry_run && tensor.fate == Fate::kWritten) continue;
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
  Table table({{}, {}});
  const auto row = [&](const char* name, const std::string& value) { table.row({{name, Role::kDim}, value}); };
  row("from", escape(report.source) + " (" + report.from_format + ")");
  row("to", escape(report.destination) + " (" + report.to_format + ")" +
                (report.dry_run ? ", dry run: nothing is written" : ""));
  row("step", format_count(report.step));
  if (report.id) row("id", report.id->hex());
  row("tensors", summary(report));
  if (report.rounding) row("rounding", rounding_text(report.rounding->error, report.rounding->tensor));
  row("size", format_bytes(report.bytes, style.exact_bytes));
  if (!report.files.empty()) row("files", format_count(report.files.size()));
  for (const std::string& note : report.notes) row("note", escape(note));
  return table.render(style.palette) + tensor_table(report, style);
}

std::string convert_json(const ConversionReport& report) {
  JsonOut json;
  json.begin_object();
  json.text("schema", "titan.convert/1");
  json.path("source", report.source);
  json.path("destination", report.destination);
  json.text("from", report.from_format);
  json.text("to", report.to_format);
  json.flag("dry_run", report.dry_run);
  json.count("step", report.step);
  if (report.id) json.text("id", report.id->hex());
  json.count("bytes", report.bytes);
  if (report.rounding) {
    json.begin_object("rounding");
    rounding_json(json, report.rounding->error, report.rounding->tensor);
    json.end_object();
  }
  json.begin_array("files");
  for (const std::string& file : report.files) json.text(file);
  json.end_array();
  json.begin_array("tensors");
  for (const TensorReport& tensor : report.tensors) {
    json.begin_object();
    json.text("from", tensor.from);
    json.text("to", tensor.to);
    json.text("fate", convert::fate_name(tensor.fate));
    json.text("from_dtype", ckpt::dtype_name(tensor.from_dtype));
    json.text("to_dtype", ckpt::dtype_name(tensor.to_dtype));
    shape_json(json, "shape", tensor.shape);
    json.flag("permuted", tensor.permuted);
    json.end_object();
  }
  json.end_array();
  json.begin_array("notes");
  for (const std::string& note : report.notes) json.text(note);
  json.end_array();
  json.end_object();
  return json.line();
}

}  // namespace titan::ui
