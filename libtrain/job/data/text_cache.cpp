#include "libtrain/job/data/text_cache.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "ckpt/base/hash.h"
#include "ckpt/base/path.h"
#include "ckpt/base/printed.h"
#include "ckpt/base/size_text.h"
#include "ckpt/plan/mixture.h"
#include "ckpt/plan/same_files.h"
#include "corpus/inspect_tokens.h"
#include "corpus/token_data.h"
#include "corpus/tokenize.h"
#include "corpus/tokenizer_files.h"
#include "libtrain/job/data/mapped_file.h"
#include "libtrain/job/data/token_files.h"
#include "recipe/keys/config.h"

namespace titan::train {
namespace {

using ckpt::Result;
using ckpt::Status;

constexpr const char* kVersion = "titan.text-cache/1";

/// "<digest of tokenizer.json>; before 1; behind 2": what determines the ids, apart from the texts.
std::string tokenizer_word(const ckpt::Digest& digest, const corpus::Borders& borders) {
  std::string word = digest.hex();
  const auto add = [&word](const char* where, const std::vector<std::uint32_t>& ids) {
    if (!ids.empty()) word += std::string("; ") + where;
    for (const std::uint32_t id : ids) word += " " + std::to_string(id);
  };
  add("before", borders.before);
  add("behind", borders.behind);
  return word;
}

/// Puts texts that the run has read (as its data or as one set of them) into the order in which it read them. Other
/// texts keep their order.
void order_as_stored(const ckpt::DataPosition& stored, TextCache& cache) {
  std::vector<ckpt::DataFile> there;
  for (const KnownFile& known : cache.files) there.push_back(known.file);
  ckpt::FileMatch match;
  for (std::size_t set = 0; set < std::max<std::size_t>(1, stored.sets.size()) && !match.same; ++set)
    match = ckpt::match_files(ckpt::files_of_set(stored, set), there);
  if (stored.kind != "text" || !match.same) return;
  std::vector<std::size_t> filled, empty;  // places
  for (std::size_t i = 0; i < there.size(); ++i) (there[i].bytes > 0 ? filled : empty).push_back(i);
  std::vector<std::size_t> order;
  for (const std::size_t place : match.order) order.push_back(filled[place]);
  order.insert(order.end(), empty.begin(), empty.end());
  const TextCache before = cache;
  for (std::size_t i = 0; i < order.size(); ++i) {
    cache.paths[i] = before.paths[order[i]];
    cache.files[i] = before.files[order[i]];
  }
}

/// A digest of everything that determines the folder's bytes.
std::string cache_key(const corpus::TokenizerFiles& tokenizer, const std::string& field, const TextCache& cache) {
  std::string all = std::string(kVersion) + "\n" + ckpt::digest_of(tokenizer.json).hex() + "\n" +
                    ckpt::digest_of(tokenizer.config).hex() + "\n" + field + "\n";
  for (const KnownFile& known : cache.files)  // the extension says whether lines are JSON
    all += std::filesystem::path(known.file.name).extension().string() + " " + std::to_string(known.file.bytes) + " " +
           known.file.blocks.hex() + "\n";
  return ckpt::digest_of(all).hex().substr(0, 16);
}

corpus::TokenizeOptions options_of(const recipe::Config& config, const TextCache& cache) {
  corpus::TokenizeOptions options;
  options.input.inputs = cache.paths;
  options.field = config.training.text_field;
  options.dst = cache.folder;
  options.tokenizer = cache.path;
  options.in_own_run = true;
  options.force = true;  // an existing folder is incomplete or damaged
  return options;
}

/// Checks that the tokens can be made: the kind of each text, and the tokenizer.
Status look_before(ckpt::Fs& fs, const corpus::TokenizerFiles& files, const corpus::TokenizeOptions& options,
                   const TextCache* other, TextCache& cache) {
  TITAN_ASSIGN_OR_RETURN(corpus::DocumentReader reader, corpus::DocumentReader::open(fs, options.input));
  TITAN_RETURN_IF_ERROR(reader.look_at_all());
  if (other != nullptr) {
    cache.tokenizer = other->tokenizer;
    cache.vocabulary = other->vocabulary;
    cache.token_bytes = other->token_bytes;
    return {};
  }
  TITAN_ASSIGN_OR_RETURN(const recipe::Tokenizer tokenizer, corpus::parse_tokenizer(files));
  auto borders = corpus::borders_of(tokenizer);
  if (!borders.ok())
    return ckpt::invalid(cache.path + ": " + borders.status().message)
        .with_hint(
            "make ids of the text first: titan-ckpt tokenize TEXT -o DATA --tokenizer DIR --eos TOKEN; then "
            "--training.dataset=tokens --training.dataset_path=DATA");
  cache.tokenizer = tokenizer_word(tokenizer.digest(), *borders);
  cache.vocabulary = tokenizer.id_bound();
  cache.token_bytes = tokenizer.id_bound() <= 65536 ? 2 : 4;
  return {};
}

bool take_folder(ckpt::Fs& fs, TextCache& cache) {
  const auto data = corpus::read_token_data(fs, cache.folder);
  cache.there = data.ok();
  if (!data.ok()) return false;
  cache.tokenizer = tokenizer_word(data->tokenizer, {data->before, data->behind});
  cache.vocabulary = data->vocabulary;
  cache.token_bytes = data->token_bytes;
  return true;
}

/// Reports from time to time how many percent are `done`.
std::function<void(std::uint64_t, std::uint64_t)> slow_progress(const std::function<void(const std::string&)>& say,
                                                                const char* done_what) {
  static constexpr std::chrono::seconds kBetween{30};
  return [&say, done_what, last = std::chrono::steady_clock::now()](std::uint64_t done, std::uint64_t total) mutable {
    if (std::chrono::steady_clock::now() - last < kBetween || total == 0) return;
    last = std::chrono::steady_clock::now();
    say("data: " + std::to_string(done * 100 / total) + done_what);
  };
}

/// Replaces a hint about flags that a run does not have.
Status for_a_run(const Status& status) {
  if (status.code != ckpt::Code::kInvalid || !status.hint.starts_with("--")) return status;
  if (status.hint.starts_with("--field"))
    return status.with_hint("training.text_field names the member of a line that is the text");
  return status.with_hint("make ids of it beforehand (titan-ckpt tokenize TEXT -o DATA --tokenizer DIR), where " +
                          status.hint);
}

/// As above, for a warning.
std::string for_a_run(std::string warning) {
  constexpr std::string_view kFlag = "--field";
  if (const std::size_t at = warning.find(kFlag); at != std::string::npos)
    warning.replace(at, kFlag.size(), "training.text_field");
  return warning;
}

}  // namespace

std::string text_tokenizer(ckpt::Fs& fs, const recipe::Config& config, std::string* note) {
  if (config.training.dataset != "text") return "";
  if (config.model.tokenizer != "byte") return config.model.tokenizer;
  const std::string assets = config.model.hf_assets_path.value_or("");
  const bool of_torchtitan = !config.training.corpus.empty();
  if (assets.empty() || !of_torchtitan || corpus::read_tokenizer_files(fs, assets).ok()) return assets;
  if (note != nullptr)
    *note = "model.hf_assets_path = \"" + assets + "\": no tokenizer.json is there, text is read as bytes";
  return "";
}

Result<TextCache> find_text_cache(ckpt::Fs& fs, const recipe::Config& config, const std::string& dataset_path,
                                  const std::string& key, std::uint64_t vocab_size, std::span<const KnownFile> known,
                                  const ckpt::DataPosition* stored, const TextCache* other) {
  TextCache cache;
  cache.path = text_tokenizer(fs, config);
  const auto tokenizer = corpus::read_tokenizer_files(fs, cache.path);
  if (!tokenizer.ok())
    return tokenizer.status().wrapped(
        std::string(config.model.tokenizer == "byte" ? "model.hf_assets_path" : "model.tokenizer") + " cannot be used");
  cache.path = tokenizer->path;
  TITAN_ASSIGN_OR_RETURN(FoundFiles found, find_data_files(dataset_path, key));
  TITAN_RETURN_IF_ERROR(check_token_folders(found, TokenKind::kUtf8Bytes, 0));
  cache.paths = std::move(found.paths);
  cache.left_out = std::move(found.left_out);
  for (const std::string& path : cache.paths) {
    TITAN_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(path));
    TITAN_ASSIGN_OR_RETURN(KnownFile as_known, known_file(path, file.bytes(), known));
    cache.files.push_back(std::move(as_known));
  }
  if (stored != nullptr) order_as_stored(*stored, cache);
  cache.folder = ckpt::join_path(ckpt::join_path(config.job.dump_folder, "cache"),
                                 "text-" + cache_key(*tokenizer, config.training.text_field, cache));
  if (!take_folder(fs, cache))
    TITAN_RETURN_IF_ERROR(look_before(fs, *tokenizer, options_of(config, cache), other, cache));
  if (cache.vocabulary <= vocab_size) return cache;
  return ckpt::invalid("the tokenizer " + cache.path + " has ids below " + std::to_string(cache.vocabulary) +
                       ", and model.vocab_size is " + std::to_string(vocab_size))
      .with_hint("a new model takes --model.vocab_size=" + std::to_string(cache.vocabulary) + " (or more)");
}

Status prove_text_cache(ckpt::Fs& fs, const ckpt::CancelToken& stop, const std::function<void(const std::string&)>& say,
                        TextCache& cache) {
  if (!cache.there) return {};
  corpus::InspectTokensOptions options;
  options.folder = cache.folder;
  options.cancel = stop;
  options.progress = slow_progress(say, " % of the tokens are compared with their digests");
  const auto data = corpus::read_token_data(fs, cache.folder);
  const Status status = data.ok() ? corpus::verify_tokens(fs, options, *data) : data.status();
  if (status.code != ckpt::Code::kCorrupt && status.code != ckpt::Code::kMediaError) return status;
  say("data: the tokens of " + cache.path + " have to be made again: " + status.message);
  cache.there = false;
  return {};
}

Status make_text_cache(ckpt::Fs& fs, const recipe::Config& config, const ckpt::CancelToken& stop,
                       const std::function<void(const std::string&)>& say, TextCache& cache) {
  corpus::TokenizeOptions options = options_of(config, cache);
  options.cancel = stop;
  std::uint64_t bytes = 0;
  for (const KnownFile& file : cache.files) bytes += file.file.bytes;
  const std::string what =
      ckpt::counted(cache.paths.size(), "file") + ", " + ckpt::size_text(bytes) + ", by " + cache.path;
  say("data: text becomes tokens once: " + what + ", into " + cache.folder);
  options.progress = slow_progress(say, " % of the text is tokens");
  auto made = corpus::tokenize(fs, options);
  if (!made.ok()) return for_a_run(made.status());
  for (const std::string& warning : made->warnings) cache.warnings.push_back(for_a_run(warning));
  say("data: " + std::to_string(made->data.documents) + " documents, " + std::to_string(made->data.tokens) +
      " tokens in " + cache.folder);
  if (take_folder(fs, cache)) return {};
  return ckpt::failed(cache.folder + " was just made, and cannot be read");
}

recipe::Config reading_tokens(recipe::Config config, std::span<const TextCache> caches) {
  if (caches.empty()) return config;
  config.training.dataset = "tokens";
  config.training.token_dtype = caches[0].token_bytes == 2 ? "uint16" : "uint32";
  std::size_t next = 0;
  if (config.training.datasets.empty()) config.training.dataset_path = caches[next++].folder;
  for (std::string& set : config.training.datasets) set = "path=" + caches[next++].folder;
  if (next < caches.size()) config.validation.dataset_path = caches[next].folder;
  return config;
}

}  // namespace titan::train
