#include "corpus/tokenize.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "ckpt/base/fs.h"
#include "ckpt/base/mutex.h"
#include "ckpt/base/parallel.h"
#include "ckpt/base/utf8.h"
#include "ckpt/save/rewrite.h"
#include "ckpt/store/destination.h"
#include "corpus/data_writer.h"
#include "corpus/dialogue.h"
#include "corpus/tokenizer_files.h"
#include "recipe/text/text_stream.h"
#include "recipe/text/tokenizer.h"

namespace titan::corpus {
namespace {

using ckpt::Result;
using ckpt::Status;
using recipe::Encoder;
using recipe::Tokenizer;

constexpr std::size_t kPortion = 1 << 20;  // bytes of text that a thread encodes at a time; at least one document
constexpr unsigned kMostThreads = 64;

/// Documents that one thread encodes at a time, and their token ids.
struct Portion {
  RawDocuments raw;
  std::vector<std::uint32_t> ids;
  std::vector<std::size_t> ends;                 // the end of each document in `ids`
  std::vector<std::vector<TokenRange>> answers;  // ranges of each document that are trained on; empty: all tokens are
  std::uint64_t text_bytes = 0, empty = 0;
};

/// Whether only the answers are trained on.
bool teaches_answers(const TokenizeOptions& options) { return options.completions || !options.messages.empty(); }

/// A pool of encoders: a thread takes one for a portion and gives it back.
class Encoders {
 public:
  Encoders(const Tokenizer& tokenizer, const ckpt::CancelToken& cancel) : tokenizer_(tokenizer), cancel_(cancel) {}
  std::unique_ptr<Encoder> take() {
    {
      const ckpt::MutexLock lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<Encoder> encoder = std::move(free_.back());
        free_.pop_back();
        return encoder;
      }
    }
    return std::make_unique<Encoder>(tokenizer_, [cancel = cancel_] { return cancel.check(); });
  }
  void give(std::unique_ptr<Encoder> encoder) {
    const ckpt::MutexLock lock(mutex_);
    free_.push_back(std::move(encoder));
  }

 private:
  const Tokenizer& tokenizer_;
  const ckpt::CancelToken cancel_;
  ckpt::Mutex mutex_;
  std::vector<std::unique_ptr<Encoder>> free_ TITAN_GUARDED_BY(mutex_);
};

/// The id of the token `given`; `own` if it is unset. `flag` names the token's flag in the error.
Result<std::vector<std::uint32_t>> around(const Tokenizer& tokenizer, const char* flag,
                                          const std::optional<std::string>& given,
                                          const std::vector<std::uint32_t>& own) {
  if (!given) return own;
  if (given->empty()) return std::vector<std::uint32_t>();
  const auto id = tokenizer.id_of(*given);
  if (!id) return ckpt::invalid("the tokenizer has no token '" + *given + "', which `--" + flag + "` names");
  return std::vector<std::uint32_t>{*id};
}

/// Counts the documents with NUL bytes, and keeps a warning about the first one in reading order.
class Zeros {
 public:
  void add(const RawDocuments::Place& place, const std::string& line) {
    const ckpt::MutexLock lock(mutex_);
    const std::pair at(place.input, place.number);
    if (count_++ == 0 || at < first_) {
      first_ = at;
      line_ = line;
    }
  }
  std::string first() {
    const ckpt::MutexLock lock(mutex_);
    if (count_ < 2) return line_;
    return line_ + " (and " + std::to_string(count_ - 1) + (count_ == 2 ? " more document" : " more documents") + ")";
  }

 private:
  ckpt::Mutex mutex_;
  std::uint64_t count_ TITAN_GUARDED_BY(mutex_) = 0;
  std::pair<std::uint32_t, std::uint64_t> first_ TITAN_GUARDED_BY(mutex_);
  std::string line_ TITAN_GUARDED_BY(mutex_);
};

class Job {
 public:
  Job(const TokenizeOptions& options, const Tokenizer& tokenizer, Borders borders, DocumentReader reader,
      ChatTemplate chat)
      : options_(options),
        chat_(std::move(chat)),
        reader_(std::move(reader)),
        encoders_(tokenizer, options.cancel),
        borders_(std::move(borders)) {}

  /// Works in rounds: while the portions of one round are encoded, the next is read; then the ids are written in order.
  Status run(DataWriter* writer, ckpt::Rewrite* rewrite, TokenizeReport* report) {
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    const unsigned threads = std::min(options_.threads > 0 ? options_.threads : cores, kMostThreads);
    std::vector<Portion> round, next;
    TITAN_RETURN_IF_ERROR(read_round(threads, &round));
    while (!round.empty()) {
      TITAN_RETURN_IF_ERROR(options_.cancel.check());
      next.clear();
      TITAN_RETURN_IF_ERROR(ckpt::parallel_for(round.size() + 1, threads, [&](std::size_t i) {
        return i == 0 ? read_round(threads, &next) : encode(round[i - 1]);
      }));
      for (const Portion& portion : round) TITAN_RETURN_IF_ERROR(write(portion, writer, report));
      if (rewrite != nullptr) TITAN_RETURN_IF_ERROR(rewrite->beat());
      if (options_.progress) options_.progress(reader_.read_bytes(), reader_.total_bytes());
      round.swap(next);
    }
    report->empty += reader_.skipped();
    report->warnings = reader_.warnings();
    if (const std::string zeros = zeros_.first(); !zeros.empty()) report->warnings.push_back(zeros);
    return {};
  }

 private:
  Status read_round(unsigned threads, std::vector<Portion>* round) {
    for (unsigned i = 0; i < 2 * threads; ++i) {
      Portion portion;
      TITAN_RETURN_IF_ERROR(reader_.fill(kPortion, portion.raw));
      if (portion.raw.places.empty()) return {};
      round->push_back(std::move(portion));
    }
    return {};
  }

  std::string named(const RawDocuments::Place& place) const {
    const std::string& name = reader_.names()[place.input];
    return (name == "-" ? "standard input" : "'" + name + "'") + (place.json ? ", line " : ", document ") +
           std::to_string(place.json ? place.number : place.number - 1);  // lines as in an editor, documents from 0
  }

  Status encode(Portion& portion) {
    std::unique_ptr<Encoder> encoder = encoders_.take();
    for (const RawDocuments::Place& place : portion.raw.places) {
      TITAN_RETURN_IF_ERROR(options_.cancel.check());
      TITAN_RETURN_IF_ERROR(encode(place, *encoder, portion));
    }
    portion.raw = {};
    encoders_.give(std::move(encoder));
    return {};
  }

  Status encode(const RawDocuments::Place& place, Encoder& encoder, Portion& portion) {
    std::string_view text = std::string_view(portion.raw.bytes).substr(place.begin, place.end - place.begin);
    if (teaches_answers(options_)) return encode_answers(place, text, encoder, portion);
    std::string made;
    if (place.json) {
      if (options_.replace_malformed) mend_line(&text, &made);
      std::string member;
      TITAN_ASSIGN_OR_RETURN(member, text_of_line(named(place), text, options_.field));
      made = std::move(member);
      text = made;
    } else if (options_.replace_malformed) {
      mend(&text, &made);
    }
    if (text.empty()) {
      ++portion.empty;
      return {};
    }
    const std::size_t zero = place.json ? std::string_view::npos : text.find('\0');
    std::vector<std::uint32_t>& ids = portion.ids;
    ids.insert(ids.end(), borders_.before.begin(), borders_.before.end());
    TITAN_RETURN_IF_ERROR(encode(place, text, encoder, ids));
    ids.insert(ids.end(), borders_.behind.begin(), borders_.behind.end());
    if (zero != std::string_view::npos)
      zeros_.add(place, named(place) + " has a NUL byte at offset " + std::to_string(zero) + ": is it text?");
    portion.ends.push_back(ids.size());
    portion.text_bytes += text.size();
    return {};
  }

  Status encode(const RawDocuments::Place& place, std::string_view text, Encoder& encoder,
                std::vector<std::uint32_t>& ids) const {
    const Status status = encoder.encode(text, ids);
    if (status.ok()) return {};
    const Status why = status.wrapped(named(place) + " cannot be encoded");
    if (ckpt::is_utf8(text)) return why;
    if (text.find('\0') != std::string_view::npos)
      return why.with_hint("it has NUL bytes, as files have that are no text: is it one?");
    return why.with_hint("--replace-malformed puts U+FFFD there; iconv -t UTF-8 converts a file");
  }

  /// Encodes each part separately, so that no token covers the end of a prompt and the beginning of an answer.
  Status encode_answers(const RawDocuments::Place& place, std::string_view line, Encoder& encoder, Portion& portion) {
    if (!place.json)
      return ckpt::invalid(named(place) + " is text, and prompts and answers are read from JSON lines")
          .with_hint("--format jsonl says that every file has such");
    std::string mended;
    if (options_.replace_malformed) mend_line(&line, &mended);
    TITAN_ASSIGN_OR_RETURN(const std::vector<TextPart> parts, options_.completions
                                                                  ? completion_parts(named(place), line)
                                                                  : message_parts(named(place), line, chat_));
    std::vector<std::uint32_t>& ids = portion.ids;
    const std::size_t begin = ids.size();
    std::vector<TokenRange>& answers = portion.answers.emplace_back();
    ids.insert(ids.end(), borders_.before.begin(), borders_.before.end());
    for (const TextPart& part : parts) {
      const std::size_t from = ids.size() - begin;
      TITAN_RETURN_IF_ERROR(encode(place, part.text, encoder, ids));
      if (part.trained && ids.size() - begin > from) answers.push_back({from, ids.size() - begin});
      portion.text_bytes += part.text.size();
    }
    // The end-of-document token is trained together with the answer.
    ids.insert(ids.end(), borders_.behind.begin(), borders_.behind.end());
    if (parts.back().trained && !answers.empty()) answers.back().end = ids.size() - begin;
    portion.ends.push_back(ids.size());
    return {};
  }

  static void mend_line(std::string_view* line, std::string* made) {
    mend(line, made);
    for (auto at = lone_surrogate(*made); at; at = lone_surrogate(*made, *at + 6)) made->replace(*at, 6, "\\ufffd");
    *line = *made;
  }

  static void mend(std::string_view* text, std::string* made) {
    recipe::TextStream stream;
    *made = stream.push(*text);
    *made += stream.finish();
    *text = *made;
  }

  Status write(const Portion& portion, DataWriter* writer, TokenizeReport* report) {
    std::size_t begin = 0, number = 0;
    for (const std::size_t end : portion.ends) {
      const std::span document = std::span(portion.ids).subspan(begin, end - begin);
      const std::vector<TokenRange> answers =
          portion.answers.empty() ? std::vector<TokenRange>() : portion.answers[number++];
      if (writer != nullptr) {
        TITAN_RETURN_IF_ERROR(writer->add(document, answers));
      } else {
        if (teaches_answers(options_)) report->data.trained = report->data.trained.value_or(0);
        for (const TokenRange& answer : answers) *report->data.trained += answer.end - answer.begin;
        ++report->data.documents;
        report->data.tokens += document.size();
        report->data.longest = std::max<std::uint64_t>(report->data.longest, document.size());
      }
      begin = end;
    }
    report->data.text_bytes += portion.text_bytes;
    report->empty += portion.empty;
    return {};
  }

  const TokenizeOptions& options_;
  ChatTemplate chat_;
  DocumentReader reader_;
  Encoders encoders_;
  Zeros zeros_;
  Borders borders_;
};

Status replaceable(ckpt::Fs& fs, const std::string& dst) {
  if (!is_token_data(fs, dst))
    return ckpt::invalid("'" + dst + "' is no folder of tokens, and stays").with_hint("choose another name");
  TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, fs.list(dst));
  for (const ckpt::DirEntry& entry : entries)
    if (entry.type != ckpt::FileType::kFile || !is_token_member(entry.name))
      return ckpt::invalid("'" + dst + "' also holds '" + entry.name + "': it is never replaced")
          .with_hint("choose another name, or move it away");
  return {};
}

/// Refuses an input file inside `dst`, since `dst` will be replaced. \error kInvalid
Status check_outside(ckpt::Fs& fs, const std::vector<std::string>& names, const std::string& dst) {
  const Result<std::string> folder = fs.real_path(dst);
  if (!folder.ok()) return {};  // nothing is there
  for (const std::string& name : names) {
    if (name == "-") continue;
    TITAN_ASSIGN_OR_RETURN(const std::string real, fs.real_path(name));
    if (ckpt::is_below(real, *folder))
      return ckpt::invalid("the source " + name + " lies inside the destination " + dst)
          .with_hint("choose another name");
  }
  return {};
}

/// Reads, encodes and writes to the unpublished folder of `rewrite`; writes nothing if `rewrite` is null.
Status make(ckpt::Fs& fs, const TokenizeOptions& options, ckpt::Rewrite* rewrite, TokenizeReport* report) {
  TITAN_ASSIGN_OR_RETURN(const TokenizerFiles files, read_tokenizer_files(fs, options.tokenizer));
  TITAN_ASSIGN_OR_RETURN(const Tokenizer tokenizer, parse_tokenizer(files));
  TITAN_ASSIGN_OR_RETURN(DocumentReader reader, DocumentReader::open(fs, options.input));
  TITAN_RETURN_IF_ERROR(check_outside(fs, reader.names(), options.dst));
  ChatTemplate chat;
  if (!options.messages.empty()) {
    TITAN_ASSIGN_OR_RETURN(chat, read_chat_template(fs, options.messages));
  }
  report->files = reader.names().size();
  report->tokenizer = files.path;
  report->data.token_bytes = tokenizer.id_bound() <= 65536 ? 2 : 4;
  TITAN_ASSIGN_OR_RETURN(Borders borders, borders_of(tokenizer, options.before, options.behind));
  report->data.before = borders.before;
  report->data.behind = borders.behind;
  Job job(options, tokenizer, std::move(borders), std::move(reader), std::move(chat));
  std::optional<DataWriter> writer;
  if (rewrite != nullptr)
    writer.emplace(fs, rewrite->folder(), report->data.token_bytes, options.shard_bytes, teaches_answers(options));
  TITAN_RETURN_IF_ERROR(job.run(writer ? &*writer : nullptr, rewrite, report));
  if (writer) {
    TITAN_ASSIGN_OR_RETURN(TokenData written, writer->finish());
    written.text_bytes = report->data.text_bytes;
    written.before = report->data.before;
    written.behind = report->data.behind;
    report->data = std::move(written);
  }
  report->data.vocabulary = tokenizer.id_bound();
  report->data.tokenizer = tokenizer.digest();
  if (report->data.documents == 0) return ckpt::invalid("there is no document: all files are empty");
  if (rewrite == nullptr) return {};
  TITAN_RETURN_IF_ERROR(rewrite->write("tokenizer.json", files.json));
  if (!files.config.empty()) TITAN_RETURN_IF_ERROR(rewrite->write("tokenizer_config.json", files.config));
  return rewrite->write(kDataFile, write_token_data(report->data));
}

}  // namespace

Result<Borders> borders_of(const Tokenizer& tokenizer, const std::optional<std::string>& before,
                           const std::optional<std::string>& behind) {
  Borders borders;
  TITAN_ASSIGN_OR_RETURN(borders.before, around(tokenizer, "bos", before, tokenizer.prefix()));
  std::vector<std::uint32_t> own = tokenizer.suffix();
  if (tokenizer.eos()) own = {*tokenizer.eos()};
  if (own.empty() && !behind)
    return ckpt::invalid("the tokenizer does not say which token ends a document")
        .with_hint("--eos TOKEN names it; --eos none puts nothing there");
  TITAN_ASSIGN_OR_RETURN(borders.behind, around(tokenizer, "eos", behind, own));
  return borders;
}

Result<TokenizeReport> tokenize(ckpt::Fs& fs, const TokenizeOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  TokenizeReport report;
  report.dst = options.dst;
  if (options.dry_run) {
    TITAN_RETURN_IF_ERROR(ckpt::check_rewrite(fs, "", options.dst, options.force, replaceable));
    TITAN_RETURN_IF_ERROR(make(fs, options, nullptr, &report));
  } else {
    TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::Rewrite> rewrite,
                           ckpt::Rewrite::begin(fs, "", options.dst, options.force, replaceable, options.in_own_run));
    TITAN_RETURN_IF_ERROR(make(fs, options, rewrite.get(), &report));
    TITAN_RETURN_IF_ERROR(rewrite->publish_folder());
    report.written = true;
    report.warnings.insert(report.warnings.end(), rewrite->warnings().begin(), rewrite->warnings().end());
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace titan::corpus
