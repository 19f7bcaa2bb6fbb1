// `titan-train sample`: text that a checkpoint writes after a prompt, shown while it is written.
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/fs_posix.h"
#include "ckpt/base/random_id.h"
#include "ckpt/base/text.h"
#include "cli/kit/errors.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/json_out.h"
#include "cli/kit/output.h"
#include "cli/kit/stop.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/titan_engine/text_decoder.h"
#include "cli/titan_train/engine.h"
#include "cli/titan_train/weights.h"
#include "libtrain/engine/train/generation.h"
#include "libtrain/job/host/cores.h"
#include "recipe/text/text_stream.h"

namespace titan::cli {
namespace {

using ckpt::Result;
using ckpt::Status;

constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;  // maximum size of a file of ids
constexpr const char* kBetween = ", \t\r\n";

/// Numbers separated by commas and white space. \error kInvalid naming what is not a number
Result<std::vector<std::int64_t>> parse_ids(const std::string& text) {
  std::vector<std::int64_t> ids;
  for (std::size_t at = text.find_first_not_of(kBetween); at != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    const std::string word = text.substr(at, end - at);
    const auto id = ckpt::number_of<std::int64_t>(word);
    if (!id || *id < 0) return ckpt::invalid("'" + word + "' is no token id");
    ids.push_back(*id);
    at = text.find_first_not_of(kBetween, end);
  }
  if (ids.empty()) return ckpt::invalid("no token id is there");
  return ids;
}

/// Checks that exactly one of --prompt and --prompt-ids is given, and that --prompt and --stop are not empty. \error
/// kInvalid
Status check_prompt(const Command& command) {
  const bool text = command.has("prompt"), ids = command.has("prompt-ids");
  if (text && ids) return ckpt::invalid("`--prompt` and `--prompt-ids` are given: one begins the text");
  if (!text && !ids)
    return ckpt::invalid("`titan-train sample` needs --prompt TEXT or --prompt-ids IDS")
        .with_hint("--prompt is for models of bytes, or with a tokenizer.json; others take ids: 1,2,3, or a file");
  for (const char* flag : {"prompt", "stop"})
    for (const std::string& value : command.all(flag))
      if (value.empty())
        return ckpt::invalid("`--" + std::string(flag) + "` is empty").with_hint("give at least one character");
  return ckpt::ok_status();
}

/// The ids of the prompt: those of the text in --prompt, or the ids in --prompt-ids, or the ids in the file that
/// --prompt-ids names. \error kInvalid: the file cannot be read, or an id is missing, not a number or not below
/// vocab_size
Result<std::vector<std::int64_t>> prompt_of(const Command& command, const Texts& texts, std::int64_t vocab_size) {
  std::vector<std::int64_t> ids;
  if (const auto text = command.value("prompt")) {
    TITAN_ASSIGN_OR_RETURN(ids, ids_of(texts, *text, true));
  } else {
    std::string list = *command.value("prompt-ids"), from = "`--prompt-ids`";
    if (list.find_first_not_of("0123456789, \t\r\n") != std::string::npos) {
      from = list;
      const auto bytes = ckpt::read_file(ckpt::posix_fs(), list, kMostBytes);
      if (!bytes.ok()) {
        Status status =
            bytes.status().wrapped("`--prompt-ids " + list + "` is neither ids nor a file that can be read");
        status.code = ckpt::Code::kInvalid;
        return status.with_hint("expected 1,2,3, or a text file of such numbers");
      }
      list = ckpt::text_of(*bytes);
    }
    auto parsed = parse_ids(list);
    if (!parsed.ok()) return ckpt::invalid(from + ": " + parsed.status().message);
    ids = std::move(*parsed);
  }
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] >= vocab_size)
      return ckpt::invalid("id " + std::to_string(ids[i]) + ", number " + std::to_string(i + 1) +
                           " of the prompt, is outside the vocabulary of " + std::to_string(vocab_size));
  return ids;
}

struct SampleReport {
  std::string checkpoint, id, dtype;
  std::uint64_t step = 0;
  train::GenerationOptions options;
  train::GenerationReport generation;
  std::optional<std::string> prompt, text;  ///< prompt and generated text; unset for a prompt of ids
  bool stopped = false;                     ///< a text of --stop has ended the generation
  bool most_given = false;                  ///< --max-new-tokens was given
};

/// What ended the text: "max_new_tokens", "end_token", "stop".
const char* sample_end(const SampleReport& report) {
  if (report.stopped) return "stop";
  return report.generation.end == train::GenerationEnd::kEndToken ? "end_token" : "max_new_tokens";
}

/// One line for stderr: how much was written, how fast, and what ended it.
std::string sample_line(const SampleReport& report) {
  const train::GenerationReport& g = report.generation;
  const std::size_t tokens = g.tokens.size();
  const double seconds = g.first_s + g.rest_s;
  std::string line = escape(report.checkpoint) + (report.step > 0 ? " step " + std::to_string(report.step) : "") +
                     ": " + format_count(tokens) + (tokens == 1 ? " token" : " tokens");
  if (tokens > 0 && seconds > 0)
    line += ", " + format_count(static_cast<std::uint64_t>(static_cast<double>(tokens) / seconds + 0.5)) + "/s";
  if (report.options.sampling.temperature > 0) line += ", seed " + std::to_string(report.options.sampling.seed);
  if (report.stopped) return line + "; ended by --stop";
  if (g.end == train::GenerationEnd::kEndToken) return line + "; the model ended the text";
  return line + (report.most_given ? "; ended by --max-new-tokens"
                                   : "; ended at the usual length (--max-new-tokens writes more)");
}

void ids(JsonOut& json, const char* key, const std::vector<std::int64_t>& tokens) {
  json.begin_array(key);
  for (const std::int64_t token : tokens) json.count(static_cast<std::uint64_t>(token));
  json.end_array();
}

std::string sample_json(const SampleReport& report) {
  const train::SamplingSettings& sampling = report.options.sampling;
  const train::GenerationReport& g = report.generation;
  JsonOut json("titan.sample/1");
  json.path("checkpoint", report.checkpoint);
  json.members("id", report.id, "step", report.step);
  ids(json, "prompt_ids", report.options.prompt);
  ids(json, "ids", g.tokens);
  if (report.prompt) json.text("prompt", *report.prompt);
  if (report.text) json.text("text", *report.text);
  json.members("end", sample_end(report), "temperature", sampling.temperature);
  if (sampling.temperature > 0) {
    json.members("top_k", sampling.top_k, "top_p", sampling.top_p, "seed", sampling.seed);
  }
  json.members("dtype", report.dtype, "kv_cache", report.options.kv_cache);
  json.members("threads", static_cast<std::uint64_t>(report.options.threads), "load_s", g.load_s);
  json.members("first_token_s", g.first_s, "other_tokens_s", g.rest_s);
  return json.document();
}

constexpr std::uint64_t kMostNewTokens = 1u << 20;
constexpr std::uint64_t kTokens = 256;  // as in transformers' pipeline, or as many as the model's context allows

Result<train::SamplingSettings> sampling_of(const Command& command) {
  train::SamplingSettings settings;
  TITAN_RETURN_IF_ERROR(read_flag(command, "temperature", "0 (the most likely token) or a number above it",
                                  number_from(0.0), settings.temperature));
  TITAN_RETURN_IF_ERROR(
      read_flag(command, "top-k", "a whole number from 1 on", number_from<std::uint64_t>(1), settings.top_k));
  TITAN_RETURN_IF_ERROR(read_flag(command, "top-p", "a number above 0, and at most 1",
                                  number_that<double>([](double p) { return p > 0 && p <= 1; }), settings.top_p));
  for (const char* flag : {"top-k", "top-p", "seed"})
    if (command.has(flag) && settings.temperature == 0)
      return ckpt::invalid("`--" + std::string(flag) + "` has no effect at temperature 0, where nothing is drawn")
          .with_hint("add --temperature 1");
  if (!command.has("seed") && settings.temperature > 0) settings.seed = ckpt::random_number();
  TITAN_RETURN_IF_ERROR(
      read_flag(command, "seed", "a whole number below 2^64", number_from<std::uint64_t>(0), settings.seed));
  return settings;
}

Result<train::GenerationOptions> options_of(const Command& command, const Texts& texts, const recipe::ModelDims& dims) {
  train::GenerationOptions options;
  TITAN_ASSIGN_OR_RETURN(options.sampling, sampling_of(command));
  TITAN_RETURN_IF_ERROR(read_flag(command, "max-new-tokens",
                                  "a whole number from 1 to " + std::to_string(kMostNewTokens),
                                  number_from<std::uint64_t>(1, kMostNewTokens), options.most));
  TITAN_RETURN_IF_ERROR(read_flag(command, "dtype", "float32 or bfloat16",
                                  word_of<bool>({{"float32", false}, {"bfloat16", true}}), options.bf16));
  TITAN_ASSIGN_OR_RETURN(const unsigned threads, thread_count(command));
  options.threads = threads > 0 ? static_cast<int>(threads) : train::allowed_cores();
  options.kv_cache = !command.has("no-kv-cache");
  options.ends = command.has("ignore-end") ? std::vector<std::int64_t>() : texts.ends;
  TITAN_ASSIGN_OR_RETURN(options.prompt, prompt_of(command, texts, dims.vocab_size));
  const std::uint64_t before = options.prompt.size();
  if (options.most == 0)
    options.most =
        texts.positions && *texts.positions > before ? std::min(kTokens, *texts.positions - before) : kTokens;
  return options;
}

/// Writes text to stdout as it is generated.
class Show {
 public:
  Show(bool off, bool terminal) : off_(off), terminal_(terminal) {}

  /// Returns false if the reader has closed the pipe, or nothing can be written.
  bool put(const std::string& text) {
    if (off_ || text.empty()) return true;
    last_ = text.back();
    const std::string shown = terminal_ ? harmless(text) : text;
    return deliver(STDOUT_FILENO, shown, &status_) == Delivery::kDone && status_.ok();
  }
  void end_line() {
    if (last_ != '\n' && status_.ok()) put("\n");
  }
  const Status& status() const { return status_; }

 private:
  // Escapes control characters except newline and tab: a model may generate terminal escape sequences.
  static std::string harmless(const std::string& text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find_first_of("\n\t", at), text.size());
      out += escape(std::string_view(text).substr(at, end - at));
      if (end < text.size()) out += text[end];
      at = end + 1;
    }
    return out;
  }

  bool off_, terminal_;
  char last_ = '\n';
  Status status_;
};

// A warning if prompt and new tokens exceed the model's context length; else empty. Not an error: transformers
// continues, too.
std::string too_long(const train::GenerationOptions& options, const Texts& texts) {
  const std::uint64_t length = options.prompt.size() + options.most;
  if (!texts.positions || length <= *texts.positions) return "";
  return "prompt and new text may have " + std::to_string(length) + " tokens, and the model was made for " +
         std::to_string(*texts.positions) + ": it continues, but what comes later may make little sense";
}

}  // namespace

ckpt::Result<Answer> run_sample(const Request& request) {
  const Command& command = request.command;
  TITAN_RETURN_IF_ERROR(check_prompt(command));
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::WeightSource> source, open_given(command));
  TITAN_ASSIGN_OR_RETURN(const recipe::NameRules rules, rules_of(command));
  TITAN_ASSIGN_OR_RETURN(const recipe::ModelDims dims, model_of(*source, command.positionals[0], "sample"));
  Texts texts;
  const bool given_text = command.has("prompt") || command.has("stop");
  if (command.has("tokenizer") && !given_text)
    return ckpt::invalid("`--tokenizer` has no effect with --prompt-ids alone, which are printed as ids");
  TITAN_ASSIGN_OR_RETURN(texts, texts_of(*source, given_text, command.value("tokenizer")));
  for (const char* flag : {"prompt", "stop"}) {
    if (!command.has(flag)) continue;
    const Status reads =
        check_reads_text(texts, source->path(), flag, "give the ids that it makes of the text: --prompt-ids 1,2,3");
    if (!reads.ok()) return reads;
  }

  SampleReport report;
  TITAN_ASSIGN_OR_RETURN(report.options, options_of(command, texts, dims));
  report.checkpoint = source->path();
  report.id = source->id();
  report.step = source->step();
  report.dtype = report.options.bf16 ? "bfloat16" : "float32";
  report.prompt = command.value("prompt");
  report.most_given = command.has("max-new-tokens");
  if (const std::string warning = too_long(report.options, texts); !warning.empty())
    report_warning(warning, request.json, request.color);

  const bool as_text = report.prompt.has_value();
  Show show(request.json, isatty(STDOUT_FILENO) == 1);
  recipe::TextStream stream(command.all("stop"));
  TextDecoder decoder(texts);
  const bool decodes = as_text || command.has("stop");
  if (decodes) decoder.follow(report.options.prompt);
  const auto gate = [&] {
    const ckpt::CancelToken cancel = stop_on_signals();
    if (as_text) {
      recipe::TextStream whole;
      const std::string prompt = whole.push(*report.prompt);
      show.put(prompt + whole.finish());
    } else {
      show.put(ckpt::joined(report.options.prompt, ",", [](std::int64_t id) { return std::to_string(id); }));
    }
    return cancel;
  };
  std::string text;
  const auto hear = [&](std::int64_t token) {
    const std::string more = decodes ? stream.push(decoder.push(token)) : "";
    text += more;
    const bool read = show.put(as_text ? more : "," + std::to_string(token));
    report.stopped = stream.stopped();
    return read && !stream.stopped();
  };
  auto generation = train::generate(*source, dims, report.options, hear, gate, rules);
  if (as_text && !stream.stopped()) {
    std::string rest = stream.push(decoder.finish());
    rest += stream.finish();
    text += rest;
    show.put(rest);
  }
  show.end_line();
  if (!generation.ok()) return generation.status();
  if (!show.status().ok()) return show.status();
  report.generation = std::move(*generation);
  if (as_text) report.text = text;
  if (request.json) return Answer{.text = sample_json(report)};
  report_note(sample_line(report), request.color);
  return Answer{};
}

}  // namespace titan::cli
