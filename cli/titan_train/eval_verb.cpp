#include <unistd.h>

#include <charconv>
#include <optional>
#include <thread>

#include "ckpt/io/destination.h"
#include "ckpt/io/run_folder.h"
#include "ckpt/ops/cat.h"
#include "cli/titan_train/verbs.h"
#include "cli/ui/errors.h"
#include "cli/ui/json_out.h"
#include "cli/ui/output.h"
#include "cli/ui/table.h"
#include "cli/ui/text.h"
#include "cli/ui/units.h"
#include "converters/import.h"
#include "libtrain/train/evaluation.h"
#include "recipe/change/model_source.h"
#include "recipe/model/from_rows.h"
#include "recipe/model/from_shapes.h"

namespace titan::train_cli {
namespace {

using ckpt::Result;
using ckpt::Status;

struct EvalReport {
  std::string checkpoint, id, tokens_file, logits_file;
  std::uint64_t step = 0, left_over = 0, row_length = 0;
  train::EvaluationReport evaluation;
};

Result<std::optional<std::uint64_t>> parse_seq_len(const ui::Command& command) {
  const auto text = command.value("seq-len");
  if (!text) return std::optional<std::uint64_t>();
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), length);
  if (error != std::errc{} || end != text->data() + text->size() || length < 1 || length > (1u << 24))
    return ckpt::invalid("--seq-len " + *text + ": expected a number of tokens from 1 to " + std::to_string(1u << 24));
  return std::optional<std::uint64_t>(length);
}

/// Bytes of a raw id: as asked for, else two where every id of the vocabulary fits.
Result<std::uint32_t> raw_bytes(const ui::Command& command, std::int64_t vocab_size) {
  const std::string text = command.value("token-dtype").value_or(vocab_size <= 65536 ? "uint16" : "uint32");
  if (text == "uint16") return 2u;
  if (text == "uint32") return 4u;
  return ckpt::invalid("--token-dtype " + text + ": expected uint16 or uint32");
}

/// Writes rows of logits as [B, T, vocabulary] beside `out` and renames at the end.
class LogitsFile {
 public:
  static Result<std::unique_ptr<LogitsFile>> create(ckpt::Fs& fs, const std::string& out,
                                                    const std::vector<std::uint64_t>& shape) {
    TITAN_RETURN_IF_ERROR(ckpt::check_output_file(fs, out));
    std::unique_ptr<LogitsFile> file(new LogitsFile(fs, out));
    TITAN_ASSIGN_OR_RETURN(file->file_, fs.create(file->temporary_));
    const std::string header = ckpt::npy_header(ckpt::DType::kF32, shape);
    TITAN_RETURN_IF_ERROR(file->append(std::as_bytes(std::span(header))));
    return file;
  }
  ~LogitsFile() {
    if (file_ && !done_) (void)fs_.remove_file(temporary_);
  }
  Status append(std::span<const std::byte> bytes) {
    TITAN_RETURN_IF_ERROR(file_->pwrite(offset_, bytes));
    offset_ += bytes.size();
    return ckpt::ok_status();
  }
  Status publish() {
    TITAN_RETURN_IF_ERROR(file_->datasync());
    TITAN_RETURN_IF_ERROR(file_->close());
    TITAN_RETURN_IF_ERROR(fs_.rename(temporary_, out_));
    done_ = true;
    return fs_.sync_dir(ckpt::parent_path(out_));
  }

 private:
  LogitsFile(ckpt::Fs& fs, const std::string& out)
      : fs_(fs), out_(out), temporary_(out + ".tmp-" + std::to_string(getpid())) {}
  ckpt::Fs& fs_;
  std::string out_, temporary_;
  std::unique_ptr<ckpt::File> file_;
  std::uint64_t offset_ = 0;
  bool done_ = false;
};

/// The model of the checkpoint. A foreign one that does not say it can be converted with what it lacks.
Result<recipe::ModelDims> model_of(const ckpt::WeightSource& source, const std::string& given) {
  const ckpt::Settings rows = recipe::known_model(source.model_config(), source.tensors());
  const std::vector<std::string> unknown = recipe::unknown_model_keys({}, rows);
  TITAN_ASSIGN_OR_RETURN(const convert::Format* format, convert::detect_format(ckpt::posix_fs(), given));
  if (unknown.empty() || format == nullptr) return recipe::stored_dims(rows, source.path());
  std::string names;
  for (const std::string& name : unknown) names += (names.empty() ? "" : ", ") + name;
  return ckpt::incompatible(source.path() + " does not say what model it holds: " + names)
      .with_hint(
          "titan-ckpt convert " + given +
          " NEW --to titan --config FILE.toml, where FILE.toml has model.flavor or model.n_heads, and what is not "
          "torchtitan's default; then titan-train eval NEW");
}

Result<EvalReport> run_eval(const ui::Command& command) {
  const auto tokens = command.value("tokens");
  if (!tokens)
    return ckpt::invalid("`titan-train eval` needs --tokens FILE")
        .with_hint("integers [B,T] as .npy, or raw ids with --seq-len T");
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::WeightSource> source, weight_opener()(command.positionals[0]));
  TITAN_ASSIGN_OR_RETURN(const recipe::ModelDims dims, model_of(*source, command.positionals[0]));
  train::TokenRows::Options options;
  TITAN_ASSIGN_OR_RETURN(options.row_length, parse_seq_len(command));
  TITAN_ASSIGN_OR_RETURN(options.raw_bytes, raw_bytes(command, dims.vocab_size));
  TITAN_ASSIGN_OR_RETURN(const train::TokenRows rows, train::TokenRows::open(*tokens, options));

  EvalReport report;
  report.checkpoint = source->path();
  report.id = source->id();
  report.step = source->step();
  report.tokens_file = *tokens;
  report.left_over = rows.left_over();
  report.row_length = rows.length();
  std::unique_ptr<LogitsFile> logits;
  train::LogitsSink sink;
  if (command.has("logits")) {
    report.logits_file = *command.value("logits");
    if (report.logits_file.empty()) return ckpt::invalid("`--logits` is empty, expected the name of a file");
    TITAN_ASSIGN_OR_RETURN(
        logits, LogitsFile::create(ckpt::posix_fs(), report.logits_file,
                                   {rows.rows(), rows.length(), static_cast<std::uint64_t>(dims.vocab_size)}));
    sink = [&logits](std::span<const float> row) { return logits->append(std::as_bytes(row)); };
  }
  const int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  TITAN_ASSIGN_OR_RETURN(report.evaluation, train::evaluate(*source, dims, rows, threads, sink));
  if (logits) TITAN_RETURN_IF_ERROR(logits->publish());
  return report;
}

/// Why RUN@latest passes over newer steps; what is wrong with the whole name the opener says.
std::vector<std::string> passed_over(const std::string& typed) {
  std::vector<std::string> skipped;
  if (typed.ends_with("@latest")) (void)ckpt::resolve_checkpoint(ckpt::posix_fs(), typed, &skipped);
  return skipped;
}

std::string eval_text(const EvalReport& report, const ui::Palette& palette) {
  using ui::Role;
  ui::Table table({{}, {}});
  const auto row = [&](const char* name, const std::string& value) { table.row({{name, Role::kDim}, value}); };
  const train::EvaluationReport& e = report.evaluation;
  row("checkpoint", ui::escape(report.checkpoint) + (report.step > 0 ? " step " + std::to_string(report.step) : ""));
  row("tokens",
      ui::format_count(e.tokens) + " in " + ui::format_count(e.rows) + (e.rows == 1 ? " row of " : " rows of ") +
          ui::format_count(report.row_length) +
          (report.left_over > 0 ? "; " + ui::format_count(report.left_over) + " left over at the end of the file"
                                : ""));
  row("predictions", ui::format_count(e.predictions));
  row("loss", e.predictions > 0 ? ui::format_real(e.loss) + " nats per prediction" : "n/a");
  if (!report.logits_file.empty()) row("logits", ui::escape(report.logits_file));
  return table.render(palette);
}

std::string eval_json(const EvalReport& report) {
  const train::EvaluationReport& e = report.evaluation;
  ui::JsonOut json;
  json.begin_object();
  json.text("schema", "titan.eval/1");
  json.path("checkpoint", report.checkpoint);
  json.text("id", report.id);
  json.count("step", report.step);
  json.count("rows", e.rows);
  json.count("tokens", e.tokens);
  json.count("left_over", report.left_over);
  json.count("predictions", e.predictions);
  if (e.predictions > 0) {
    json.real("loss", e.loss);
  } else {
    json.null("loss");
  }
  if (!report.logits_file.empty()) json.path("logits", report.logits_file);
  json.end_object();
  return json.line();
}

}  // namespace

int eval_verb(const Arguments& arguments) {
  const bool json = arguments.command.has("json");
  const auto color = parse_color(arguments.command);
  const auto fail = [&](const Status& status) {
    return ui::report_error(status, json, color.ok() ? *color : ui::ColorChoice::kAuto);
  };
  if (!color.ok()) return fail(color.status());
  const Result<EvalReport> report = run_eval(arguments.command);
  const std::string& typed = arguments.command.positionals[0];
  for (const std::string& why : passed_over(typed)) ui::report_warning(typed + " passes over " + why, json, *color);
  if (!report.ok()) return fail(report.status());
  Status status;
  ui::deliver(1, json ? eval_json(*report) : eval_text(*report, ui::Palette{ui::color_of_process(1, *color)}), &status);
  return status.ok() ? 0 : fail(status);
}

}  // namespace titan::train_cli
