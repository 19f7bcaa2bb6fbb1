#include "cli/titan_engine/sample.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "ckpt/base/random_id.h"
#include "ckpt/base/text.h"
#include "cli/kit/errors.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/output.h"
#include "cli/kit/stop.h"
#include "cli/kit/text.h"
#include "cli/titan_engine/prompt.h"
#include "cli/titan_engine/speech.h"
#include "cli/titan_train/engine.h"
#include "cli/titan_train/weights.h"
#include "libtrain/job/host/cores.h"
#include "recipe/text/text_stream.h"

namespace titan::cli {
namespace {

using ckpt::Result;
using ckpt::Status;

constexpr std::uint64_t kMostNewTokens = 1u << 20;
constexpr std::uint64_t kTokens = 256;  // as transformers' pipeline, or as many as the model was made for

Result<train::SamplingSettings> sampling_of(const Command& command) {
  train::SamplingSettings settings;
  if (const auto text = command.value("temperature")) {
    const auto value = ckpt::number_of<double>(*text);
    if (!value || !std::isfinite(*value) || *value < 0)
      return wrong_value("temperature", *text, "0 (the most likely token) or a number above it");
    settings.temperature = *value;
  }
  if (const auto text = command.value("top-k")) {
    const auto value = ckpt::number_of<std::uint64_t>(*text);
    if (!value || *value == 0) return wrong_value("top-k", *text, "a whole number from 1 on");
    settings.top_k = *value;
  }
  if (const auto text = command.value("top-p")) {
    const auto value = ckpt::number_of<double>(*text);
    if (!value || !(*value > 0 && *value <= 1)) return wrong_value("top-p", *text, "a number above 0, and at most 1");
    settings.top_p = *value;
  }
  for (const char* flag : {"top-k", "top-p", "seed"})
    if (command.has(flag) && settings.temperature == 0)
      return ckpt::invalid("`--" + std::string(flag) + "` has no effect at temperature 0, where nothing is drawn")
          .with_hint("add --temperature 1");
  if (const auto text = command.value("seed")) {
    const auto value = ckpt::number_of<std::uint64_t>(*text);
    if (!value) return wrong_value("seed", *text, "a whole number below 2^64");
    settings.seed = *value;
  } else if (settings.temperature > 0) {
    settings.seed = ckpt::random_number();
  }
  return settings;
}

Result<train::GenerationOptions> options_of(const Command& command, const Texts& texts, const recipe::ModelDims& dims) {
  train::GenerationOptions options;
  TITAN_ASSIGN_OR_RETURN(options.sampling, sampling_of(command));
  if (const auto text = command.value("max-new-tokens")) {
    const auto value = ckpt::number_of<std::uint64_t>(*text);
    if (!value || *value == 0 || *value > kMostNewTokens)
      return wrong_value("max-new-tokens", *text, "a whole number from 1 to " + std::to_string(kMostNewTokens));
    options.most = *value;
  }
  const std::string dtype = command.value("dtype").value_or("float32");
  if (dtype != "float32" && dtype != "bfloat16") return wrong_value("dtype", dtype, "float32 or bfloat16");
  options.bf16 = dtype == "bfloat16";
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

/// Writes to stdout as text comes.
class Show {
 public:
  Show(bool off, bool terminal) : off_(off), terminal_(terminal) {}

  /// False: nobody reads any more, or nothing can be written.
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
  // A model writes whatever it likes: a terminal must not obey it.
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

// transformers goes on, too.
std::string too_long(const train::GenerationOptions& options, const Texts& texts) {
  const std::uint64_t length = options.prompt.size() + options.most;
  if (!texts.positions || length <= *texts.positions) return "";
  return "prompt and new text may have " + std::to_string(length) + " tokens, and the model was made for " +
         std::to_string(*texts.positions) + ": it goes on, but what comes later may make little sense";
}

}  // namespace

Answer run_sample(const Request& request) {
  const Command& command = request.command;
  if (const Status given = check_prompt(command); !given.ok()) return {.error = given};
  std::unique_ptr<ckpt::WeightSource> source;
  TITAN_ASSIGN_OR_ANSWER(source, open_given(command));
  recipe::NameRules rules;
  TITAN_ASSIGN_OR_ANSWER(rules, rules_of(command));
  recipe::ModelDims dims;
  TITAN_ASSIGN_OR_ANSWER(dims, model_of(*source, command.positionals[0], "sample"));
  Texts texts;
  const bool given_text = command.has("prompt") || command.has("stop");
  if (command.has("tokenizer") && !given_text)
    return {.error = ckpt::invalid("`--tokenizer` has no effect with --prompt-ids alone, which are printed as ids")};
  TITAN_ASSIGN_OR_ANSWER(texts, texts_of(*source, given_text, command.value("tokenizer")));
  for (const char* flag : {"prompt", "stop"}) {
    if (!command.has(flag)) continue;
    const Status reads =
        check_reads_text(texts, source->path(), flag, "give the ids that it makes of the text: --prompt-ids 1,2,3");
    if (!reads.ok()) return {.error = reads};
  }

  SampleReport report;
  TITAN_ASSIGN_OR_ANSWER(report.options, options_of(command, texts, dims));
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
  Speech speech(texts);
  if (as_text) speech.follow(report.options.prompt);
  const auto gate = [&] {
    const ckpt::CancelToken cancel = stop_on_signals();
    if (as_text) {
      recipe::TextStream whole;
      const std::string prompt = whole.push(*report.prompt);
      show.put(prompt + whole.finish());
    } else {
      std::string prompt;
      for (const std::int64_t id : report.options.prompt) prompt += (prompt.empty() ? "" : ",") + std::to_string(id);
      show.put(prompt);
    }
    return cancel;
  };
  std::string text;
  const auto hear = [&](std::int64_t token) {
    if (!as_text) return show.put("," + std::to_string(token));
    const std::string more = stream.push(speech.push(token));
    text += more;
    const bool read = show.put(more);
    report.stopped = stream.stopped();
    return read && !stream.stopped();
  };
  auto generation = train::generate(*source, dims, report.options, hear, gate, rules);
  if (as_text && !stream.stopped()) {
    std::string rest = stream.push(speech.finish());
    rest += stream.finish();
    text += rest;
    show.put(rest);
  }
  show.end_line();
  if (!generation.ok()) return {.error = generation.status()};
  if (!show.status().ok()) return {.error = show.status()};
  report.generation = std::move(*generation);
  if (as_text) report.text = text;
  if (request.json) return {.text = sample_json(report)};
  report_note(sample_line(report), request.color);
  return {};
}

}  // namespace titan::cli
