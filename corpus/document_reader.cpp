#include "corpus/document_reader.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/size_text.h"
#include "ckpt/base/utf8.h"
#include "ckpt/format/json_reader.h"
#include "ckpt/plan/same_files.h"
#include "corpus/path_pattern.h"
#include "corpus/text_check.h"

namespace titan::corpus {
namespace {

using ckpt::FileKind;
using ckpt::FileType;
using ckpt::Result;
using ckpt::Status;

constexpr std::size_t kPiece = 256 << 10;  // bytes of one read from a source

bool named_json_lines(std::string_view name) {
  for (const char* packed : {".gz", ".zst"})
    if (name.ends_with(packed)) name.remove_suffix(std::string_view(packed).size());
  return name.ends_with(".jsonl") || name.ends_with(".ndjson");
}

}  // namespace

std::vector<std::string> named_twice(const std::vector<std::string>& paths) {
  std::vector<std::string> names, twice;
  for (const std::string& path : paths) names.push_back(std::filesystem::path(path).lexically_normal().string());
  std::sort(names.begin(), names.end());
  for (std::size_t i = 1; i < names.size(); ++i)
    if (names[i] == names[i - 1] && (twice.empty() || twice.back() != names[i])) twice.push_back(names[i]);
  return twice;
}

Status DocumentReader::add_input(const std::string& path, bool may_be_pattern) {
  if (names_.size() == kMostInputs) return ckpt::invalid("more than 1048576 files are given");
  if (path == "-") {
    if (!options_.standard_input) return ckpt::invalid("standard input cannot be read here");
    names_.push_back(path);
    return {};
  }
  const Result<std::string> real = fs_->real_path(path);
  const auto info = real.ok() ? fs_->stat(*real) : Result<ckpt::FileInfo>(real.status());
  if (!info.ok() && info.status().code == ckpt::Code::kNotFound) {
    const bool pattern = may_be_pattern && has_wildcard(path);
    if (pattern) {
      TITAN_ASSIGN_OR_RETURN(const std::vector<std::string> fitting, matching_paths(*fs_, path));
      for (const std::string& one : fitting) TITAN_RETURN_IF_ERROR(add_input(one, false));
      if (!fitting.empty()) return {};
    }
    return ckpt::invalid("'" + path + "' does not exist" + (pattern ? ", and nothing fits it as a pattern" : ""));
  }
  if (!info.ok()) return info.status();
  if (info->type == FileType::kFile) {
    names_.push_back(path);
    total_bytes_ += info->size;
    return {};
  }
  if (info->type != FileType::kDirectory) return ckpt::invalid("'" + path + "' is no file and no folder");
  TITAN_RETURN_IF_ERROR(check_no_token_folder(*fs_, path));
  TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, fs_->list(*real));
  const std::size_t before = names_.size();
  for (const ckpt::DirEntry& entry : entries)
    if (entry.type == FileType::kFile && !entry.name.starts_with('.'))
      TITAN_RETURN_IF_ERROR(add_input(ckpt::join_path(path, entry.name)));
  if (names_.size() == before)
    return ckpt::invalid("the folder '" + path + "' has no files (hidden files, links and subfolders do not count)");
  return {};
}

Result<DocumentReader> DocumentReader::open(ckpt::Fs& fs, InputOptions options) {
  DocumentReader reader(fs, std::move(options));
  for (const std::string& input : reader.options_.inputs) TITAN_RETURN_IF_ERROR(reader.add_input(input));
  if (std::count(reader.names_.begin(), reader.names_.end(), "-") > 0) reader.total_bytes_ = 0;
  if (const std::vector<std::string> twice = named_twice(reader.names_); !twice.empty())
    reader.warnings_.push_back("read as often as named: " + ckpt::first_few(twice));
  return reader;
}

// Adds a warning if a file is read as text and looks like JSON, like a web page, or begins with a byte order mark.
void DocumentReader::warn_of(const std::string& name, const ExaminedSource& looked) {
  const bool lines = looked.json_lines || named_json_lines(name);
  const bool as_text = options_.format ? *options_.format == InputFormat::kText : !lines;
  const char* const markup =
      looked.kind == FileKind::kWebPage || looked.kind == FileKind::kErrorPage ? ckpt::kind_text(looked.kind) : nullptr;
  if (!as_text) return;
  if (looked.marked) warn(shown_input(name) + " begins with a byte order mark, which is taken as text");
  if (markup == nullptr && !looked.json && !lines) return;
  const std::string what = markup != nullptr ? markup : lines ? "JSON lines" : "JSON";
  const std::string instead =
      markup != nullptr ? ": tags and scripts are trained on, too"
      : lines           ? ": --format jsonl takes a member of each line"
                        : ": as JSON lines (jq -c '.[]') each object is a document, and --field names its text";
  warn(shown_input(name) + " looks like " + what + ", and is taken as text" + instead);
}

void DocumentReader::warn(std::string line) {
  constexpr std::size_t kMost = 8;
  if (warnings_.size() == kMost) line = "and further files that look like something else than text";
  if (warnings_.size() <= kMost) warnings_.push_back(std::move(line));
}

Status DocumentReader::open_next() {
  const std::string& name = names_[next_++];
  std::unique_ptr<ByteSource> source;
  if (name == "-") {
    source = source_of(options_.standard_input);
  } else {
    TITAN_ASSIGN_OR_RETURN(source, file_source(*fs_, name));
  }
  const std::shared_ptr<ByteSource> counted = std::move(source);
  source = source_of([counted, count = read_bytes_](std::span<char> out) -> Result<std::size_t> {
    TITAN_ASSIGN_OR_RETURN(const std::size_t bytes, counted->read(out));
    *count += bytes;
    return bytes;
  });
  TITAN_ASSIGN_OR_RETURN(ExaminedSource looked, examine(name, std::move(source)));
  TITAN_RETURN_IF_ERROR(check_is_text(*fs_, name, looked.kind));
  warn_of(name, looked);
  json_ = options_.format ? *options_.format == InputFormat::kJsonLines : looked.json_lines || named_json_lines(name);
  separator_ = json_ ? "\n" : options_.separator;
  source_ = std::move(looked.source);
  ended_ = false;
  number_ = 0;
  held_.clear();
  at_ = looked_ = 0;
  return {};
}

Status DocumentReader::look_at_all() {
  DocumentReader looker(*fs_, options_);
  looker.names_ = names_;
  while (looker.next_ < looker.names_.size()) TITAN_RETURN_IF_ERROR(looker.open_next());
  return {};
}

Status DocumentReader::read_more() {
  if (held_.size() - at_ > kLongest) {
    const Status status =
        ckpt::invalid((json_ ? "line " + std::to_string(number_ + 1) : "document " + std::to_string(number_)) + " of " +
                      shown_input(names_[next_ - 1]) + " has more than " + ckpt::size_text(kLongest));
    return json_ ? status : status.with_hint("--split TEXT says what stands between documents: --split '\\n\\n'");
  }
  held_.erase(0, at_);
  looked_ -= at_;
  at_ = 0;
  const std::size_t before = held_.size();
  held_.resize(before + kPiece);
  const Result<std::size_t> count = source_->read(std::span(held_).subspan(before));
  held_.resize(before + (count.ok() ? *count : 0));
  ended_ = count.ok() && *count == 0;
  return count.status();
}

// Outputs [at_, end) as a document; the next document begins at `next`.
Status DocumentReader::take(std::size_t end, std::size_t next, RawDocuments& out) {
  ++number_;
  std::string_view text = std::string_view(held_).substr(at_, end - at_);
  if (json_ && number_ == 1 && text.starts_with(ckpt::kByteOrderMark)) text.remove_prefix(ckpt::kByteOrderMark.size());
  if (json_ && text.find_first_not_of(" \t\r") == std::string_view::npos) text = {};
  if (text.empty()) {
    skipped_ += next > end || end > at_ ? 1 : 0;
  } else {
    const std::size_t begin = out.bytes.size();
    out.bytes += text;
    out.places.push_back({begin, out.bytes.size(), static_cast<std::uint32_t>(next_ - 1), number_, json_});
  }
  at_ = looked_ = next;
  return {};
}

Status DocumentReader::fill(std::size_t wanted, RawDocuments& out) {
  while (out.bytes.size() < wanted) {
    if (!source_) {
      if (next_ == names_.size()) return {};
      TITAN_RETURN_IF_ERROR(open_next());
    }
    const std::size_t found = separator_.empty() ? std::string::npos : held_.find(separator_, looked_);
    if (found != std::string::npos) {
      TITAN_RETURN_IF_ERROR(take(found, found + separator_.size(), out));
    } else if (ended_) {
      TITAN_RETURN_IF_ERROR(take(held_.size(), held_.size(), out));
      source_.reset();
    } else {
      looked_ = std::max(at_, held_.size() - std::min(held_.size(), separator_.size()));
      TITAN_RETURN_IF_ERROR(read_more());
    }
  }
  return {};
}

std::optional<std::size_t> lone_surrogate(std::string_view json, std::size_t from) {
  constexpr std::size_t kEscape = 6;  // bytes of "\\u0041"
  // The UTF-16 code unit of the escape at `at`; 0 if there is no such escape.
  const auto unit = [&](std::size_t at) {
    unsigned value = 0;
    if (json.size() < at + kEscape || json[at] != '\\' || json[at + 1] != 'u') return value;
    const char* const end = json.data() + at + kEscape;
    return std::from_chars(json.data() + at + 2, end, value, 16).ptr == end ? value : 0;
  };
  for (std::size_t at = json.find('\\', from); at != std::string_view::npos; at = json.find('\\', at)) {
    const unsigned value = unit(at);
    const bool high = value >= 0xd800 && value < 0xdc00, low = value >= 0xdc00 && value < 0xe000;
    const unsigned behind = high ? unit(at + kEscape) : 0;
    const bool pair = behind >= 0xdc00 && behind < 0xe000;
    if (low || (high && !pair)) return at;
    at += pair ? 2 * kEscape : 2;
    if (at >= json.size()) break;
  }
  return std::nullopt;
}

Status bad_line(std::string_view line, Status status) {
  if (status.ok()) return status;
  status.code = ckpt::Code::kInvalid;
  if (ckpt::is_utf8(line)) return status;
  return status.with_hint("--replace-malformed puts U+FFFD there; iconv -t UTF-8 converts a file");
}

Result<std::string> text_of_line(const std::string& what, std::string_view line, const std::string& field) {
  ckpt::JsonReader in(what, line);
  std::string text;
  bool found = false;
  in.object([&](std::string_view key) {
    if (key != field) return in.skip();
    if (found) return in.fail("the member '" + field + "' is there twice");
    found = true;
    text = in.text();
  });
  Status status = in.finish();
  if (!status.ok()) {
    if (const auto at = lone_surrogate(line))
      return ckpt::invalid(what + " has the escape " + std::string(line.substr(*at, 6)) + " at offset " +
                           std::to_string(*at) + ", which is half of a character (a lone surrogate)")
          .with_hint("--replace-malformed puts U+FFFD there");
    return bad_line(line, std::move(status));
  }
  if (!found)
    return ckpt::invalid(what + " has no member '" + field + "'")
        .with_hint("--field NAME says which member is the text");
  return text;
}

}  // namespace titan::corpus
