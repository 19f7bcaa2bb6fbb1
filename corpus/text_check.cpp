#include "corpus/text_check.h"

#include <algorithm>

#include "ckpt/base/path.h"
#include "ckpt/base/quoting.h"
#include "corpus/token_data.h"
#include "corpus/token_file.h"

namespace titan::corpus {
namespace {

using ckpt::FileKind;
using ckpt::Status;

Status ids_already(const std::string& path, const std::string& what) {
  return ckpt::invalid("'" + path + "' is " + what + ", not text: there is nothing to tokenize")
      .with_hint("train on it as it is (--training.dataset=tokens --training.dataset_path=" + ckpt::shell_word(path) +
                 "), or look at it: titan-ckpt tokens " + ckpt::shell_word(path));
}

bool named_as_ids(const std::string& path) {
  constexpr const char* kEndings[] = {".bin", ".idx", ".ds", ".ds.index", ".ds.metadata", ".npy"};
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&](const char* ending) { return path.ends_with(ending); });
}

}  // namespace

std::string shown_input(const std::string& input) { return input == "-" ? "standard input" : "'" + input + "'"; }

Status check_no_token_folder(ckpt::Fs& fs, const std::string& path) {
  return is_token_data(fs, path) ? ids_already(path, "a folder of token ids, as `titan-ckpt tokenize` makes it")
                                 : Status();
}

Status check_is_text(ckpt::Fs& fs, const std::string& input, FileKind kind) {
  if (named_as_ids(input)) {
    if (input.ends_with(".bin") && is_token_data(fs, ckpt::parent_path(input)))
      return check_no_token_folder(fs, ckpt::parent_path(input));
    constexpr std::uint32_t kAnyWidth = 2;
    const auto ids = open_token_file(fs, input, kAnyWidth);
    if (ids.ok() && ids->format != TokenFormat::kRaw)
      return ids_already(ids->path, ids->path == input
                                        ? format_text(ids->format)
                                        : std::string(format_text(ids->format)) + " ('" + input + "' belongs to it)");
  }
  if (!ckpt::is_binary(kind) && kind != FileKind::kUtf16 && kind != FileKind::kLfsPointer) return {};
  const bool table = kind == FileKind::kParquet || kind == FileKind::kArrow || kind == FileKind::kFeather;
  return ckpt::invalid(shown_input(input) + " is " + ckpt::kind_text(kind) + ", not text or JSON lines")
      .with_hint(table ? "write its rows as JSON lines first (pandas.read_parquet(FILE).to_json(OUT, "
                         "orient=\"records\", lines=True))"
                       : "give text, JSON lines, or these packed with gzip or zstd");
}

}  // namespace titan::corpus
