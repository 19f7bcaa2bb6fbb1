#include "cli/titan_ckpt/tokenize.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "ckpt/base/fs.h"
#include "ckpt/base/text.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/units.h"
#include "cli/kit/work.h"
#include "cli/titan_ckpt/verbs.h"

namespace titan::cli {
namespace {

using ckpt::Result;
using ckpt::Status;

constexpr std::uint64_t kMostShown = 1000;

/// A stop signal that interrupts the read is seen by the caller, which polls for it.
Result<std::size_t> read_standard_input(std::span<char> out, const ckpt::CancelToken& cancel) {
  while (true) {
    const ssize_t count = ::read(STDIN_FILENO, out.data(), out.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) return ckpt::failed(std::string("standard input cannot be read: ") + std::strerror(errno));
    TITAN_RETURN_IF_ERROR(cancel.check());
  }
}

/// "\n", "\t", "\r", "\\" stand for what they do in C.
Result<std::string> unescaped(const std::string& flag, const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const char next = i + 1 < text.size() ? text[++i] : '\0';
    constexpr std::string_view kNames = "ntr\\", kMeant = "\n\t\r\\";
    const std::size_t at = kNames.find(next);
    if (next == '\0' || at == std::string_view::npos)
      return wrong_value(flag, text, "a text; a backslash stands before n, t, r or \\");
    out += kMeant[at];
  }
  return out;
}

bool is_folder(ckpt::Fs& fs, const std::string& path) {
  const Result<std::string> real = fs.real_path(path);
  const auto info = real.ok() ? fs.stat(*real) : Result<ckpt::FileInfo>(real.status());
  return !info.ok() || info->type == ckpt::FileType::kDirectory;
}

Status read_flags(const Command& command, corpus::TokenizeOptions* options) {
  const auto dst = command.value("output"), tokenizer = command.value("tokenizer");
  if (!dst || dst->empty())
    return ckpt::invalid("`titan-ckpt tokenize` needs -o DATA").with_hint("-o names the folder that is made");
  if (!tokenizer || tokenizer->empty())
    return ckpt::invalid("`titan-ckpt tokenize` needs --tokenizer DIR")
        .with_hint("DIR is a folder that holds tokenizer.json, or that file");
  options->dst = *dst;
  options->tokenizer = *tokenizer;
  options->input.inputs = command.positionals;
  options->field = command.value("field").value_or("text");
  options->completions = command.has("completions");
  options->messages = command.value("messages").value_or("");
  if (options->completions + command.has("messages") + command.has("field") > 1)
    return ckpt::invalid("only one of --field, --completions and --messages says what a line holds")
        .with_hint("leave out the others");
  if (const auto format = command.value("format")) {
    if (*format != "text" && *format != "jsonl") return wrong_value("format", *format, "text or jsonl");
    options->input.format = *format == "text" ? corpus::InputFormat::kText : corpus::InputFormat::kJsonLines;
  }
  if (const auto split = command.value("split")) {
    TITAN_ASSIGN_OR_RETURN(options->input.separator, unescaped("split", *split));
    const bool lines =
        options->completions || !options->messages.empty() || options->input.format == corpus::InputFormat::kJsonLines;
    if (lines)
      return ckpt::invalid("`--split` has no effect on JSON lines: each line is a document")
          .with_hint("leave it out, or `--completions`, `--messages` and `--format jsonl`");
    if (options->input.separator.empty()) return wrong_value("split", *split, "a text that is not empty");
  }
  for (const auto& [flag, token] : {std::pair("bos", &options->before), std::pair("eos", &options->behind)})
    if (const auto value = command.value(flag)) *token = *value == "none" ? "" : *value;
  if (const auto size = command.value("shard-size")) {
    const auto bytes = parse_bytes(*size);
    if (!bytes) return wrong_value("shard-size", *size, "a size: 256MiB, 1GB");
    options->shard_bytes = *bytes;
  }
  options->replace_malformed = command.has("replace-malformed");
  options->force = command.has("force");
  options->dry_run = command.has("dry-run");
  TITAN_ASSIGN_OR_RETURN(options->threads, thread_count(command));
  return {};
}

}  // namespace

Answer run_tokenize(const Request& request) {
  corpus::TokenizeOptions options;
  if (const Status status = read_flags(request.command, &options); !status.ok()) return {.error = status};
  const Work work(request, options, "tokenize");
  options.input.standard_input = [cancel = options.cancel](std::span<char> out) {
    return read_standard_input(out, cancel);
  };
  corpus::TokenizeReport report;
  TITAN_ASSIGN_OR_ANSWER(report, corpus::tokenize(request.fs, options));
  return {.text = request.json ? tokenize_json(report) : tokenize_text(report, request.style),
          .notes = report.warnings};
}

Answer run_tokens(const Request& request) {
  const Command& command = request.command;
  corpus::LookOptions options;
  options.folder = command.positionals[0];
  options.tokenizer = command.value("tokenizer").value_or("");
  options.verify = command.has("verify");
  if (const auto type = command.value("token-dtype")) {
    if (*type != "uint16" && *type != "uint32") return {.error = wrong_value("token-dtype", *type, "uint16 or uint32")};
    options.raw_bytes = *type == "uint16" ? 2 : 4;
  }
  if (const auto show = command.value("show")) {
    const auto count = ckpt::number_of<std::uint64_t>(*show);
    if (!count || *count == 0 || *count > kMostShown)
      return {.error = wrong_value("show", *show, "a number of documents from 1 to 1000")};
    options.show = *count;
    if (options.tokenizer.empty() && !is_folder(request.fs, options.folder))
      return {.error = ckpt::invalid("'" + options.folder + "' does not say its tokenizer, which --show decodes with")
                           .with_hint("--tokenizer DIR names a folder that holds tokenizer.json")};
  } else if (command.has("tokenizer")) {
    return {.error = ckpt::invalid("`--tokenizer` has no effect without --show").with_hint("add --show 3")};
  }
  const Work work(request, options, "verify");
  corpus::LookReport report;
  TITAN_ASSIGN_OR_ANSWER(report, corpus::look(request.fs, options));
  return {.text = request.json ? tokens_json(report) : tokens_text(report, request.style)};
}

}  // namespace titan::cli
