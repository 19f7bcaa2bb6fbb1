#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "ckpt/base/fs.h"
#include "ckpt/base/printed.h"
#include "ckpt/base/quoting.h"
#include "ckpt/base/text.h"
#include "ckpt/store/named_file.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/json_out.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/kit/values.h"
#include "cli/kit/work.h"
#include "cli/titan_ckpt/verbs.h"
#include "corpus/inspect_tokens.h"
#include "corpus/tokenize.h"

namespace titan::cli {
namespace {

using ckpt::Result;
using ckpt::Status;

constexpr std::uint64_t kMostShown = 1000;

/// Reads from standard input. A stop signal interrupts the read, which then ends with the error of `cancel`.
Result<std::size_t> read_standard_input(std::span<char> out, const ckpt::CancelToken& cancel) {
  while (true) {
    const ssize_t count = ::read(STDIN_FILENO, out.data(), out.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) return ckpt::failed(std::string("standard input cannot be read: ") + std::strerror(errno));
    TITAN_RETURN_IF_ERROR(cancel.check());
  }
}

/// `text` with the escapes \n, \t, \r and \\ replaced as in C. \error kInvalid: another escape
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
  const auto info = ckpt::stat_target(fs, path);
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
  using enum corpus::InputFormat;
  TITAN_RETURN_IF_ERROR(read_flag(command, "format", "text or jsonl",
                                  word_of<corpus::InputFormat>({{"text", kText}, {"jsonl", kJsonLines}}),
                                  options->input.format));
  if (const auto split = command.value("split")) {
    TITAN_ASSIGN_OR_RETURN(options->input.separator, unescaped("split", *split));
    const bool lines = options->completions || !options->messages.empty() || options->input.format == kJsonLines;
    if (lines)
      return ckpt::invalid("`--split` has no effect on JSON lines: each line is a document")
          .with_hint("leave it out, or `--completions`, `--messages` and `--format jsonl`");
    if (options->input.separator.empty()) return wrong_value("split", *split, "a text that is not empty");
  }
  for (const auto& [flag, token] : {std::pair("bos", &options->before), std::pair("eos", &options->behind)})
    if (const auto value = command.value(flag)) *token = *value == "none" ? "" : *value;
  TITAN_RETURN_IF_ERROR(read_flag(command, "shard-size", "a size: 256MiB, 1GB", parse_bytes, options->shard_bytes));
  options->replace_malformed = command.has("replace-malformed");
  options->force = command.has("force");
  options->dry_run = command.has("dry-run");
  TITAN_ASSIGN_OR_RETURN(options->threads, thread_count(command));
  return {};
}

std::string ids_text(const std::vector<std::uint32_t>& ids) {
  return ids.empty() ? "nothing" : ckpt::joined(ids, ", ", [](std::uint32_t id) { return std::to_string(id); });
}

/// Adds the lines about a token folder that `tokenize` and `tokens` share.
void add_data(Facts& facts, const corpus::TokenData& data, const TextStyle& style) {
  facts.add("documents", format_count(data.documents));
  facts.add("tokens", format_count(data.tokens) + " of " + std::to_string(data.token_bytes) + " bytes (" +
                          format_bytes(data.tokens * data.token_bytes, style.exact_bytes) + "), ids below " +
                          format_count(data.vocabulary));
  if (data.tokens > 0)
    facts.add("text", format_bytes(data.text_bytes, style.exact_bytes) + ", " +
                          format_rounded(static_cast<double>(data.text_bytes) / static_cast<double>(data.tokens), 3) +
                          " bytes a token");
  if (data.trained) facts.add("trained", format_count(*data.trained) + " of " + ckpt::counted(data.tokens, "token"));
  facts.add("longest", ckpt::counted(data.longest, "token"));
  facts.add("around", ids_text(data.before) + " before each document, " + ids_text(data.behind) + " after it");
}

/// Adds the lines about a file of ids.
void add_file(Facts& facts, const corpus::InspectTokensReport& report, const TextStyle& style) {
  const corpus::TokenData& data = report.data;
  facts.add("file", escape(report.file->path));
  facts.add("kind", corpus::format_text(report.file->format) +
                        (report.file->tokenizer.empty() ? "" : ", of the tokenizer " + escape(report.file->tokenizer)));
  facts.add("tokens", format_count(data.tokens) + " of " + ckpt::counted(data.token_bytes, "byte") + " (" +
                          format_bytes(data.tokens * data.token_bytes, style.exact_bytes) + ")" +
                          (report.verified ? ", ids below " + format_count(data.vocabulary) : ""));
  if (report.file->index.empty()) return facts.add("documents", "not known: there is no index");
  facts.add("documents", format_count(data.documents) + ", as " + escape(report.file->index) + " says");
  facts.add("longest", ckpt::counted(data.longest, "token"));
}

std::string tokenize_text(const corpus::TokenizeReport& report, const TextStyle& style) {
  Facts facts;
  facts.add("tokenizer", escape(report.tokenizer));
  facts.add("files", format_count(report.files) +
                         (report.empty > 0 ? "; " + ckpt::counted(report.empty, "empty text") + " left out" : ""));
  add_data(facts, report.data, style);
  std::string out = facts.render(style.palette) + "\n";
  if (!report.written) return out + "nothing written: --dry-run\n";
  const std::string dtype = report.data.token_bytes == 2 ? "" : " --training.token_dtype=uint32";
  out += style.palette.paint(Role::kOk, "wrote") + " " + escape(report.dst) + "  " +
         ckpt::counted(report.data.shards.size(), "shard") + "\n";
  return out +
         "train on it: --training.dataset=tokens --training.dataset_path=" + escape(ckpt::shell_word(report.dst)) +
         dtype + "\n";
}

std::string tokens_text(const corpus::InspectTokensReport& report, const TextStyle& style) {
  Facts facts;
  if (report.file) {
    add_file(facts, report, style);
  } else {
    facts.add("folder", escape(report.folder));
    facts.add("shards", format_count(report.data.shards.size()) + (report.verified ? ", every digest is right" : ""));
    add_data(facts, report.data, style);
  }
  std::string out = facts.render(style.palette);
  for (std::size_t i = 0; i < report.shown.size(); ++i) {
    const corpus::ShownDocument& shown = report.shown[i];
    out +=
        "\n" +
        style.palette.paint(Role::kDim, "document " + std::to_string(i) + ", " + ckpt::counted(shown.tokens, "token")) +
        "\n";
    out += escape(shown.text) + (shown.cut ? " ..." : "") + "\n";
  }
  return out;
}

void data_json(JsonOut& json, const corpus::TokenData& data) {
  json.members("documents", data.documents, "tokens", data.tokens, "token_bytes", std::uint64_t{data.token_bytes});
  json.members("text_bytes", data.text_bytes, "longest", data.longest, "vocabulary", data.vocabulary);
  if (data.trained) json.count("trained", *data.trained);
  digest_json(json, "tokenizer_digest", data.tokenizer);
  json.members("before", data.before, "behind", data.behind);
  json.each("shards", data.shards, [&](const corpus::TokenShard& shard) {
    json.members("tokens_file", shard.tokens_file, "ends_file", shard.ends_file, "tokens", shard.tokens, "documents",
                 shard.documents);
    digest_json(json, "tokens_digest", shard.tokens_digest);
    digest_json(json, "ends_digest", shard.ends_digest);
    if (!shard.answers_file.empty()) {
      json.members("answers_file", shard.answers_file, "answers", shard.answers);
      digest_json(json, "answers_digest", shard.answers_digest);
    }
  });
}

std::string tokenize_json(const corpus::TokenizeReport& report) {
  JsonOut json("titan.tokenize/1");
  json.path("destination", report.dst);
  json.path("tokenizer", report.tokenizer);
  json.members("written", report.written, "files", report.files, "empty", report.empty);
  data_json(json, report.data);
  json.members("seconds", report.seconds, "warnings", report.warnings);
  return json.document();
}

std::string tokens_json(const corpus::InspectTokensReport& report) {
  JsonOut json("titan.tokens/1");
  json.path("folder", report.folder);
  json.text("format", report.file ? corpus::format_text(report.file->format) : "a folder of tokens");
  json.path("index", report.file ? report.file->index : "");
  json.flag("verified", report.verified);
  data_json(json, report.data);
  json.each("shown", report.shown, [&](const corpus::ShownDocument& shown) {
    json.members("tokens", shown.tokens, "cut", shown.cut, "text", shown.text);
  });
  return json.document();
}

}  // namespace

ckpt::Result<Answer> run_tokenize(const Request& request) {
  corpus::TokenizeOptions options;
  TITAN_RETURN_IF_ERROR(read_flags(request.command, &options));
  const Work work(request, options, "tokenize");
  options.input.standard_input = [cancel = options.cancel](std::span<char> out) {
    return read_standard_input(out, cancel);
  };
  TITAN_ASSIGN_OR_RETURN(const corpus::TokenizeReport report, corpus::tokenize(request.fs, options));
  return Answer{.text = request.json ? tokenize_json(report) : tokenize_text(report, request.style),
                .notes = report.warnings};
}

ckpt::Result<Answer> run_tokens(const Request& request) {
  const Command& command = request.command;
  corpus::InspectTokensOptions options;
  options.folder = command.positionals[0];
  options.tokenizer = command.value("tokenizer").value_or("");
  options.verify = command.has("verify");
  TITAN_RETURN_IF_ERROR(read_flag(command, "token-dtype", "uint16 or uint32",
                                  word_of<std::uint32_t>({{"uint16", 2}, {"uint32", 4}}), options.raw_bytes));
  TITAN_RETURN_IF_ERROR(read_flag(command, "show", "a number of documents from 1 to 1000",
                                  number_from<std::uint64_t>(1, kMostShown), options.show));
  if (options.show > 0) {
    if (options.tokenizer.empty() && !is_folder(request.fs, options.folder))
      return ckpt::invalid("'" + options.folder + "' does not say its tokenizer, which --show decodes with")
          .with_hint("--tokenizer DIR names a folder that holds tokenizer.json");
  } else if (command.has("tokenizer")) {
    return ckpt::invalid("`--tokenizer` has no effect without --show").with_hint("add --show 3");
  }
  const Work work(request, options, "verify");
  TITAN_ASSIGN_OR_RETURN(const corpus::InspectTokensReport report, corpus::inspect_tokens(request.fs, options));
  return Answer{.text = request.json ? tokens_json(report) : tokens_text(report, request.style)};
}

}  // namespace titan::cli
