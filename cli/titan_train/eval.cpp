#include "cli/titan_train/eval.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "ckpt/base/text.h"
#include "ckpt/io/output_file.h"
#include "ckpt/io/run_resolve.h"
#include "ckpt/ops/cat.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/stop.h"
#include "cli/titan_train/weights.h"
#include "converters/import.h"
#include "recipe/change/model_source.h"
#include "recipe/model/from_rows.h"
#include "recipe/model/from_shapes.h"

namespace titan::cli {
namespace {

using ckpt::Result;
using ckpt::Status;

constexpr std::uint64_t kMostTokens = 1u << 24;  // of a row

Result<std::optional<std::uint64_t>> parse_seq_len(const Command& command) {
  const auto text = command.value("seq-len");
  if (!text) return std::optional<std::uint64_t>();
  const std::optional<std::uint64_t> length = ckpt::number_of<std::uint64_t>(*text);
  if (!length || *length < 1 || *length > kMostTokens)
    return ckpt::invalid("--seq-len " + *text + ": expected a number of tokens from 1 to " +
                         std::to_string(kMostTokens));
  return length;
}

/// training.seq_len of the run that saved the checkpoint; nothing where it is not known.
std::optional<std::uint64_t> stored_seq_len(const ckpt::WeightSource& source) {
  if (source.manifest() == nullptr) return std::nullopt;
  const ckpt::Settings& config = source.manifest()->config;
  const auto found = std::ranges::find(config, std::string("training.seq_len"), &ckpt::Settings::value_type::first);
  const auto length = found == config.end() ? std::nullopt : ckpt::number_of<std::uint64_t>(found->second);
  return length && *length >= 1 && *length <= kMostTokens ? length : std::nullopt;
}

/// Bytes of a raw id: as asked for, else two where every id of the vocabulary fits.
Result<std::uint32_t> raw_bytes(const Command& command, std::int64_t vocab_size) {
  const std::string text = command.value("token-dtype").value_or(vocab_size <= 65536 ? "uint16" : "uint32");
  if (text == "uint16") return 2u;
  if (text == "uint32") return 4u;
  return ckpt::invalid("--token-dtype " + text + ": expected uint16 or uint32");
}

/// The model of the checkpoint. The error for a foreign checkpoint that does not say it names the conversion that does.
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

Result<EvalReport> evaluate(const Command& command) {
  const auto tokens = command.value("tokens");
  if (!tokens)
    return ckpt::invalid("`titan-train eval` needs --tokens FILE").with_hint("integers [B,T] as .npy, or raw ids");
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::WeightSource> source, weight_opener()(command.positionals[0]));
  TITAN_ASSIGN_OR_RETURN(const recipe::ModelDims dims, model_of(*source, command.positionals[0]));
  train::TokenRows::Options options;
  TITAN_ASSIGN_OR_RETURN(options.row_length, parse_seq_len(command));
  options.default_length = stored_seq_len(*source);
  TITAN_ASSIGN_OR_RETURN(options.raw_bytes, raw_bytes(command, dims.vocab_size));
  TITAN_ASSIGN_OR_RETURN(const train::TokenRows rows, train::TokenRows::open(*tokens, options));

  EvalReport report;
  report.checkpoint = source->path();
  report.id = source->id();
  report.step = source->step();
  report.tokens_file = *tokens;
  report.left_over = rows.left_over();
  report.row_length = rows.length();
  report.length_of_run = rows.by_default();
  std::unique_ptr<ckpt::OutputFile> logits;
  train::LogitsSink sink;
  if (command.has("logits")) {
    report.logits_file = *command.value("logits");
    if (report.logits_file.empty()) return ckpt::invalid("`--logits` is empty, expected the name of a file");
    remove_at_stop(ckpt::OutputFile::temporary_of(report.logits_file));
    TITAN_ASSIGN_OR_RETURN(logits, ckpt::OutputFile::create(ckpt::posix_fs(), report.logits_file));
    const std::string header =
        ckpt::npy_header(ckpt::DType::kF32, {rows.rows(), rows.length(), static_cast<std::uint64_t>(dims.vocab_size)});
    TITAN_RETURN_IF_ERROR(logits->append(std::as_bytes(std::span(header))));
    sink = [&logits](std::span<const float> row) { return logits->append(std::as_bytes(row)); };
  }
  const int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  TITAN_ASSIGN_OR_RETURN(report.evaluation, train::evaluate(*source, dims, rows, threads, sink));
  if (logits) TITAN_RETURN_IF_ERROR(logits->publish());
  return report;
}

}  // namespace

Answer run_eval(const Request& request) {
  EvalReport report;
  TITAN_ASSIGN_OR_ANSWER(report, evaluate(request.command));
  return {.text = request.json ? eval_json(report) : eval_text(report, request.style.palette)};
}

}  // namespace titan::cli
