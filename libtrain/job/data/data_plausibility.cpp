#include "libtrain/job/data/data_plausibility.h"

#include <algorithm>
#include <filesystem>

#include "ckpt/base/file_kind.h"
#include "ckpt/base/quoting.h"
#include "ckpt/base/toml_text.h"
#include "ckpt/base/utf8.h"
#include "libtrain/job/data/id_looks.h"
#include "libtrain/job/data/log_look.h"

namespace titan::train {
namespace {

namespace fs = std::filesystem;
using ckpt::FileKind;
using ckpt::Status;
using ckpt::toml_string;

std::string with_extension(const std::string& path, const char* extension) {
  return fs::path(path).replace_extension(extension).string();
}

/// Commands to paste, below the hint.
std::string lines(std::initializer_list<std::string> list) {
  std::string text;
  for (const std::string& line : list) text += "\n    " + line;
  return text;
}

constexpr const char* kMakeText =
    "make a text file of it and name that one; to train on it as it stands, rename it to .txt (a run continues with a "
    "renamed file):";

/// Three lines of Python that write the column "text" of `path` to a text file: the import, the call that opens it, and
/// its rows.
std::string text_lines(const std::string& path, const std::string& import, const std::string& also_open,
                       const std::string& rows) {
  return kMakeText +
         lines({import, "with open(" + toml_string(with_extension(path, ".txt")) + ", \"w\") as text" + also_open + ":",
                "    text.writelines(" + rows + ")"});
}

std::string json_lines(const std::string& path) {
  return text_lines(path, "import json", ", open(" + toml_string(path) + ", encoding=\"utf-8-sig\") as rows",
                    "json.loads(row)[\"text\"] + \"\\n\" for row in rows");
}
std::string json_rows(const std::string& path) {
  return text_lines(path, "import json", ", open(" + toml_string(path) + ", encoding=\"utf-8-sig\") as file",
                    "row[\"text\"] + \"\\n\" for row in json.load(file)");
}
constexpr const char* kMakeLines = "write its rows as JSON lines, and make tokens of these (titan-ckpt tokenize):";

std::string parquet_rows(const std::string& path) {
  return kMakeLines + lines({"import pandas", "pandas.read_parquet(" + toml_string(path) + ").to_json(" +
                                                  toml_string(with_extension(path, ".jsonl")) +
                                                  ", orient=\"records\", lines=True)"});
}
std::string arrow_rows(const std::string& path) {
  return kMakeLines + lines({"from datasets import Dataset", "Dataset.from_file(" + toml_string(path) + ").to_json(" +
                                                                 toml_string(with_extension(path, ".jsonl")) + ")"});
}
/// MosaicML's and Lightning's folders are read by classes of the same name.
std::string streamed_rows(const std::string& folder, const std::string& module, const std::string& argument) {
  return kMakeLines + lines({"import json; from " + module + " import StreamingDataset as Data",
                             "open(\"rows.jsonl\", \"w\").writelines(json.dumps(row) + \"\\n\" for row in Data(" +
                                 argument + toml_string(folder) + "))"});
}
std::string numpy_tokens(const std::string&) {
  return "an array of ids of one dimension is read with --training.dataset=tokens";
}

std::string the_text_itself(const std::string&) {
  return "give the text itself, or token ids with --training.dataset=tokens";
}

/// How to make training data from a kind of file (ckpt/base/file_kind.h).
struct KindHint {
  FileKind kind;
  std::string (*hint)(const std::string& path);  ///< nullptr: an archive; the hint is to unpack it
  const char* unpack = "";
};

constexpr KindHint kKindHints[] = {
    {FileKind::kJsonLines, json_lines},         {FileKind::kJson, json_rows},
    {FileKind::kParquet, parquet_rows},         {FileKind::kArrow, arrow_rows},
    {FileKind::kFeather, arrow_rows},           {FileKind::kNpy, numpy_tokens},
    {FileKind::kNpz, the_text_itself},          {FileKind::kTorch, the_text_itself},
    {FileKind::kTar, nullptr, "tar -xf"},       {FileKind::kGzip, nullptr, "gzip -dc <"},
    {FileKind::kZstd, nullptr, "zstd -dc <"},   {FileKind::kXz, nullptr, "xz -dc <"},
    {FileKind::kBzip2, nullptr, "bzip2 -dc <"}, {FileKind::kZip, nullptr, "unzip"},
};

const KindHint* hint_for(FileKind kind) {
  const auto* const found = std::ranges::find(kKindHints, kind, &KindHint::kind);
  return found == std::end(kKindHints) ? nullptr : found;
}

std::string unpacked(const std::string& path, const std::string& command) {
  return command + " " + ckpt::shell_word(path) + (command.ends_with('<') ? " > NEW.txt" : "");
}

Status wrong_kind(const std::string& path, const KindHint& way, TokenKind wanted) {
  const bool json = way.kind == FileKind::kJsonLines || way.kind == FileKind::kJson;
  if (json && wanted != TokenKind::kUtf8Bytes)
    return ckpt::invalid("'" + path + "' is " + ckpt::kind_text(way.kind) + ", not bare tokens")
        .with_hint("make ids of it: titan-ckpt tokenize " + ckpt::shell_word(path) +
                   " -o DATA --tokenizer DIR; or read it as text by a tokenizer: --training.dataset=text "
                   "--model.tokenizer=DIR");
  return ckpt::invalid("'" + path + "' is " + ckpt::kind_text(way.kind) + ", not " +
                       (wanted == TokenKind::kUtf8Bytes ? "text" : "bare tokens"))
      .with_hint(way.hint ? way.hint(path) : "unpack it, and name what was in it: " + unpacked(path, way.unpack));
}

bool is_control(unsigned char c) { return ckpt::is_odd_control(c) || c == 0x7f; }

bool is_plain_text(std::string_view bytes) {
  return std::ranges::all_of(bytes,
                             [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t'; });
}

bool there(const std::string& folder, const char* name) {
  std::error_code ignored;
  return fs::exists(fs::path(folder) / name, ignored);
}

/// Whether one of the folder's entries has a name that `is` accepts.
template <typename Predicate>
bool any_entry(const std::string& folder, Predicate is) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator(); entry.increment(error))
    if (is(*entry)) return true;
  return false;
}

/// Whether the folder has steps of Titan or torchtitan.
bool holds_steps(const std::string& folder) {
  return any_entry(folder, [](const fs::directory_entry& entry) {
    const std::string path = entry.path().string();
    return entry.path().filename().string().starts_with("step-") &&
           (there(path, "manifest.json") || there(path, ".metadata"));
  });
}

bool holds_weights(const std::string& folder) {
  return any_entry(folder, [](const fs::directory_entry& entry) { return entry.path().extension() == ".safetensors"; });
}

/// Whether the folder has shards of a streaming dataset, recognised by names, next to their common index.
bool holds_shards(const std::string& folder, const char* part) {
  return there(folder, "index.json") && any_entry(folder, [part](const fs::directory_entry& entry) {
           return entry.path().filename().string().find(part) != std::string::npos;
         });
}

/// An error that names the kind of file, if the beginning leaves no doubt; else ok. Short magic numbers may also begin
/// a file of ids.
Status sure_kind(const std::string& path, std::string_view beginning) {
  constexpr std::size_t kSure = 5;  // bytes
  const FileKind found = ckpt::file_kind(beginning);
  const bool sure = found == FileKind::kTorch || found == FileKind::kNpz || found == FileKind::kSafetensors ||
                    std::ranges::any_of(ckpt::file_signatures(), [&](const ckpt::FileSignature& one) {
                      return one.kind == found && one.magic.size() >= kSure && beginning.starts_with(one.magic);
                    });
  if (!sure) return {};
  if (const KindHint* const way = hint_for(found)) return wrong_kind(path, *way, TokenKind::kUint16);
  return ckpt::invalid("'" + path + "' is " + ckpt::kind_text(found) + ", not bare tokens")
      .with_hint("give files that hold ids and nothing else, little-endian, of 2 or 4 bytes each");
}

Status no_data(const std::string& key, const std::string& folder, const std::string& what, const std::string& hint) {
  return ckpt::invalid(key + ": '" + folder + "' is " + what + ", not a folder of data").with_hint(hint);
}

}  // namespace

Status check_data_folder(const std::string& folder, const std::string& key) {
  const std::string give = "give the file or the folder that the text is in";
  if (holds_steps(folder + "/checkpoint") || there(folder, "checkpoint/run.lock") ||
      (there(folder, "metrics.jsonl") && there(folder, "config.toml")))
    return no_data(key, folder, "a run folder",
                   give + "; to continue with that run: --job.dump_folder=" + ckpt::shell_word(folder));
  if (there(folder, "manifest.json") && there(folder, "model"))
    return no_data(key, folder, "a checkpoint", give + "; to continue from it: --resume " + ckpt::shell_word(folder));
  if (holds_steps(folder)) return no_data(key, folder, "a folder of checkpoints", give);
  if (holds_shards(folder, ".mds"))
    return no_data(key, folder, "a data set of MosaicML (MDS)", streamed_rows(folder, "streaming", "local="));
  if (holds_shards(folder, "chunk-"))
    return no_data(key, folder, "a data set of litdata", streamed_rows(folder, "litdata", ""));
  if (there(folder, "config.json") && holds_weights(folder))
    return no_data(key, folder, "a model of Hugging Face",
                   give + "; to start from its weights: --init-from " + ckpt::shell_word(folder));
  return {};
}

Status check_data_name(const std::string& path, TokenKind kind) {
  const FileKind found = ckpt::file_kind_by_name(path);
  const KindHint* const way = found == FileKind::kNpy && kind != TokenKind::kUtf8Bytes ? nullptr : hint_for(found);
  return way == nullptr ? Status{} : wrong_kind(path, *way, kind);
}

Status check_data_bytes(const std::string& path, std::string_view beginning, TokenKind kind) {
  if (kind != TokenKind::kUtf8Bytes) return {};
  const FileKind found = ckpt::file_kind(beginning);
  if (const KindHint* const way = hint_for(found)) return wrong_kind(path, *way, kind);
  if (found == FileKind::kUtf16)
    return ckpt::invalid("'" + path + "' is UTF-16, not UTF-8")
        .with_hint("convert it: iconv -f UTF-16 -t UTF-8 " + ckpt::shell_word(path));
  return {};
}

Status doubt_of(const std::string& path, std::string_view beginning, TokenKind kind) {
  if (kind != TokenKind::kUtf8Bytes) {
    if (const Status sure = sure_kind(path, beginning); !sure.ok()) return sure;
    // Plain text, read as 16-bit ids, has no id below 2,313 (two tabs). A tokenizer's output also has smaller ids.
    constexpr std::size_t kEnough = 64;
    if (beginning.size() >= kEnough && is_plain_text(beginning))
      return ckpt::invalid("'" + path + "' is text, not tokens").with_hint("add --training.dataset=text");
    return doubt_of_ids(path, beginning, kind == TokenKind::kUint16 ? 2 : 4, "--training.token_dtype=");
  }
  const FileKind found = ckpt::file_kind(beginning);
  if (found == FileKind::kLfsPointer || (ckpt::is_binary(found) && found != FileKind::kZeros))
    return ckpt::invalid("'" + path + "' is " + ckpt::kind_text(found) + ", not text")
        .with_hint(found == FileKind::kLfsPointer ? "fetch the file: git lfs pull, in the folder that was cloned"
                                                  : the_text_itself(path));
  const auto controls = static_cast<std::size_t>(std::ranges::count_if(beginning, is_control));
  if (controls * 8 <= beginning.size()) return {};
  return ckpt::invalid("'" + path + "' is binary, not text: " + std::to_string(controls) + " of its first " +
                       std::to_string(beginning.size()) + " bytes are control characters")
      .with_hint(
          "token ids are read with --training.dataset=tokens; UTF-16 is converted with iconv -f UTF-16 -t UTF-8");
}

std::string odd_look(std::string_view beginning, TokenKind kind) {
  if (kind == TokenKind::kUint16 && looks_big_endian(beginning))
    return "looks like big-endian ids, and is read as little-endian";
  if (kind != TokenKind::kUtf8Bytes) return "";
  const std::string_view first = beginning.substr(0, beginning.find('\n'));
  if (first.starts_with("{\"") && (first.ends_with("}") || first.ends_with("}\r")))
    return "looks like JSON lines: braces and escapes are trained on";
  return begins_as_log(beginning) ? "looks like a log" : "";
}

}  // namespace titan::train
