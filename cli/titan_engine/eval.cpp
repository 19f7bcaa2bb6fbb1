// `titan-train eval`: the loss of a checkpoint on a token file.
#include <optional>
#include <string>

#include "ckpt/base/files.h"
#include "ckpt/base/fs_posix.h"
#include "ckpt/base/text.h"
#include "ckpt/ops/cat.h"
#include "ckpt/store/output_file.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/json_out.h"
#include "cli/kit/stop.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/titan_engine/text_decoder.h"
#include "cli/titan_train/engine.h"
#include "cli/titan_train/weights.h"
#include "libtrain/engine/train/evaluation.h"
#include "libtrain/job/host/cores.h"

namespace titan::cli {
namespace {

using ckpt::Result;

struct EvalReport {
  std::string checkpoint, id, tokens_file, logits_file;
  std::uint64_t step = 0, left_over = 0, row_length = 0;
  std::string length_from;  ///< the checkpoint's key that set row_length; empty: the flag or the file did
  train::EvaluationReport evaluation;
};

std::string eval_text(const EvalReport& report, const Palette& palette) {
  Facts facts;
  const train::EvaluationReport& e = report.evaluation;
  facts.add("checkpoint", escape(report.checkpoint) + (report.step > 0 ? " step " + std::to_string(report.step) : ""));
  facts.add(
      "tokens",
      format_count(e.tokens) + " in " + format_count(e.rows) + (e.rows == 1 ? " row of " : " rows of ") +
          format_count(report.row_length) +
          (report.length_from.empty() ? "" : " (the checkpoint's " + report.length_from + ")") +
          (report.left_over > 0 ? "; " + format_count(report.left_over) + " left over at the end of the file" : ""));
  facts.add("predictions", format_count(e.predictions));
  facts.add("loss", e.predictions > 0 ? format_real(e.loss) + " nats per prediction" : "n/a");
  if (!report.logits_file.empty()) facts.add("logits", escape(report.logits_file));
  return facts.render(palette);
}

std::string eval_json(const EvalReport& report) {
  const train::EvaluationReport& e = report.evaluation;
  JsonOut json("titan.eval/1");
  json.path("checkpoint", report.checkpoint);
  json.members("id", report.id, "step", report.step, "rows", e.rows, "tokens", e.tokens, "seq_len", report.row_length);
  json.members("left_over", report.left_over, "predictions", e.predictions);
  json.member("loss", e.predictions > 0 ? std::optional(e.loss) : std::nullopt);
  if (!report.logits_file.empty()) json.path("logits", report.logits_file);
  return json.document();
}

constexpr std::uint64_t kLongestRow = 1u << 24;  // maximum number of tokens of a row
constexpr std::uint64_t kLongestText = std::uint64_t{1} << 30;

Result<std::optional<std::uint64_t>> parse_seq_len(const Command& command) {
  const auto text = command.value("seq-len");
  if (!text) return std::optional<std::uint64_t>();
  const std::optional<std::uint64_t> length = ckpt::number_of<std::uint64_t>(*text);
  if (!length || *length < 1 || *length > kLongestRow)
    return ckpt::invalid("--seq-len " + *text + ": expected a number of tokens from 1 to " +
                         std::to_string(kLongestRow));
  return length;
}

/// Bytes per raw id: those of --token-dtype, else 2 if every id of the vocabulary fits, else 4.
Result<std::uint32_t> raw_bytes(const Command& command, std::int64_t vocab_size) {
  const std::string text = command.value("token-dtype").value_or(vocab_size <= 65536 ? "uint16" : "uint32");
  if (text == "uint16") return 2u;
  if (text == "uint32") return 4u;
  return ckpt::invalid("--token-dtype " + text + ": expected uint16 or uint32");
}

/// A text in memory as token ids, without the tokenizer's own prefix and suffix.
Result<train::TokenRows> rows_of_text(const std::string& path, const Texts& texts,
                                      const train::TokenRows::Options& options) {
  auto bytes = ckpt::read_file(ckpt::posix_fs(), path, kLongestText);
  if (!bytes.ok() && bytes.status().code == ckpt::Code::kNotFound)
    return ckpt::invalid("`--text`: there is no file " + path);
  if (!bytes.ok()) return bytes.status();
  TITAN_RETURN_IF_ERROR(train::check_no_mark(path, ckpt::text_of(*bytes)));
  auto ids = ids_of(texts, std::string(ckpt::text_of(*bytes)), false);
  if (!ids.ok()) return ids.status().wrapped(path + " cannot be encoded");
  return train::TokenRows::of_ids(path, std::vector<std::uint32_t>(ids->begin(), ids->end()), options);
}

Result<EvalReport> evaluate(const Command& command) {
  const auto text = command.value("text"), tokens = text ? text : command.value("tokens");
  if (!tokens)
    return ckpt::invalid("`titan-train eval` needs --tokens FILE or --text FILE")
        .with_hint(
            "--tokens: integers [B,T] as .npy, or raw ids; --text: what a model of bytes, or its tokenizer, reads");
  if (text && (command.has("tokens") || command.has("token-dtype")))
    return ckpt::invalid("`--text` is given with `--" + std::string(command.has("tokens") ? "tokens" : "token-dtype") +
                         "`: one of them says what is read");
  if (command.has("tokenizer") && !text) return ckpt::invalid("`--tokenizer` has no effect without --text");
  TITAN_ASSIGN_OR_RETURN(const recipe::NameRules rules, rules_of(command));
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::WeightSource> source, open_given(command));
  TITAN_ASSIGN_OR_RETURN(const recipe::ModelDims dims, model_of(*source, command.positionals[0], "eval"));
  train::TokenRows::Options options;
  TITAN_ASSIGN_OR_RETURN(options.row_length, parse_seq_len(command));
  options.default_length = stored_seq_len(*source);
  TITAN_ASSIGN_OR_RETURN(options.raw_bytes, raw_bytes(command, dims.vocab_size));
  std::string length_from = "training.seq_len";
  Texts texts;
  if (text) {
    TITAN_ASSIGN_OR_RETURN(texts, texts_of(*source, true, command.value("tokenizer")));
    TITAN_RETURN_IF_ERROR(
        check_reads_text(texts, source->path(), "text", "give the ids that it makes of the text: --tokens FILE"));
    options.text = true;
    if (!options.default_length) {
      options.default_length = texts.positions;
      length_from = "max_position_embeddings";
    }
  }
  TITAN_ASSIGN_OR_RETURN(const train::TokenRows rows, texts.tokenizer ? rows_of_text(*text, texts, options)
                                                                      : train::TokenRows::open(*tokens, options));

  EvalReport report;
  report.checkpoint = source->path();
  report.id = source->id();
  report.step = source->step();
  report.tokens_file = *tokens;
  report.left_over = rows.left_over();
  report.row_length = rows.length();
  if (rows.by_default()) report.length_from = length_from;
  std::unique_ptr<ckpt::OutputFile> logits;
  train::LogitsSink sink;
  if (command.has("logits")) {
    report.logits_file = *command.value("logits");
    if (report.logits_file.empty()) return ckpt::invalid("`--logits` is empty, expected the name of a file");
    TITAN_ASSIGN_OR_RETURN(logits, ckpt::OutputFile::create(ckpt::posix_fs(), report.logits_file));
    remove_at_stop(logits->temporary());
    const std::string header =
        ckpt::npy_header(ckpt::DType::kF32, {rows.rows(), rows.length(), static_cast<std::uint64_t>(dims.vocab_size)});
    TITAN_RETURN_IF_ERROR(logits->append(std::as_bytes(std::span(header))));
    sink = [&logits](std::span<const float> row) { return logits->append(std::as_bytes(row)); };
  }
  TITAN_ASSIGN_OR_RETURN(report.evaluation, train::evaluate(*source, dims, rows, train::allowed_cores(), sink, rules));
  if (logits) TITAN_RETURN_IF_ERROR(logits->publish());
  return report;
}

}  // namespace

ckpt::Result<Answer> run_eval(const Request& request) {
  TITAN_ASSIGN_OR_RETURN(const EvalReport report, evaluate(request.command));
  return Answer{.text = request.json ? eval_json(report) : eval_text(report, request.style.palette)};
}

}  // namespace titan::cli
