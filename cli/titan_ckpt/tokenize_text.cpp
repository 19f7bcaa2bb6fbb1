#include "ckpt/base/shell_word.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/titan_ckpt/tokenize.h"

namespace titan::cli {
namespace {

std::string ids_text(const std::vector<std::uint32_t>& ids) {
  std::string text;
  for (const std::uint32_t id : ids) text += (text.empty() ? "" : ", ") + std::to_string(id);
  return text.empty() ? "nothing" : text;
}

/// What both verbs say of a folder of tokens.
void add_data(Facts& facts, const corpus::TokenData& data, const TextStyle& style) {
  facts.add("documents", format_count(data.documents));
  facts.add("tokens", format_count(data.tokens) + " of " + std::to_string(data.token_bytes) + " bytes (" +
                          format_bytes(data.tokens * data.token_bytes, style.exact_bytes) + "), ids below " +
                          format_count(data.vocabulary));
  if (data.tokens > 0)
    facts.add("text", format_bytes(data.text_bytes, style.exact_bytes) + ", " +
                          format_rounded(static_cast<double>(data.text_bytes) / static_cast<double>(data.tokens), 3) +
                          " bytes a token");
  if (data.trained)
    facts.add("trained", format_count(*data.trained) + " of " + format_counted(data.tokens, "token", "tokens"));
  facts.add("longest", format_counted(data.longest, "token", "tokens"));
  facts.add("around", ids_text(data.before) + " before each document, " + ids_text(data.behind) + " behind it");
}

/// What is known of a file of ids.
void add_file(Facts& facts, const corpus::LookReport& report, const TextStyle& style) {
  const corpus::TokenData& data = report.data;
  facts.add("file", escape(report.file->path));
  facts.add("kind", corpus::format_text(report.file->format) +
                        (report.file->tokenizer.empty() ? "" : ", of the tokenizer " + escape(report.file->tokenizer)));
  facts.add("tokens", format_count(data.tokens) + " of " + format_counted(data.token_bytes, "byte", "bytes") + " (" +
                          format_bytes(data.tokens * data.token_bytes, style.exact_bytes) + ")" +
                          (report.verified ? ", ids below " + format_count(data.vocabulary) : ""));
  if (report.file->index.empty()) return facts.add("documents", "not known: there is no index");
  facts.add("documents", format_count(data.documents) + ", as " + escape(report.file->index) + " says");
  facts.add("longest", format_counted(data.longest, "token", "tokens"));
}

}  // namespace

std::string tokenize_text(const corpus::TokenizeReport& report, const TextStyle& style) {
  Facts facts;
  facts.add("tokenizer", escape(report.tokenizer));
  facts.add(
      "files",
      format_count(report.files) +
          (report.empty > 0 ? "; " + format_counted(report.empty, "empty text", "empty texts") + " left out" : ""));
  add_data(facts, report.data, style);
  std::string out = facts.render(style.palette) + "\n";
  if (!report.written) return out + "nothing written: --dry-run\n";
  const std::string dtype = report.data.token_bytes == 2 ? "" : " --training.token_dtype=uint32";
  out += style.palette.paint(Role::kOk, "wrote") + " " + escape(report.dst) + "  " +
         format_counted(report.data.shards.size(), "shard", "shards") + "\n";
  return out +
         "train on it: --training.dataset=tokens --training.dataset_path=" + escape(ckpt::shell_word(report.dst)) +
         dtype + "\n";
}

std::string tokens_text(const corpus::LookReport& report, const TextStyle& style) {
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
    out += "\n" +
           style.palette.paint(
               Role::kDim, "document " + std::to_string(i) + ", " + format_counted(shown.tokens, "token", "tokens")) +
           "\n";
    out += escape(shown.text) + (shown.cut ? " ..." : "") + "\n";
  }
  return out;
}

}  // namespace titan::cli
