#pragma once
// Tokenizes texts with a tokenizer.json before a run reads them: once, into a token folder in the run folder.
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/result.h"
#include "ckpt/model/data_position.h"
#include "libtrain/job/data/dataset.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::train {

/// The path of the tokenizer for texts (model.tokenizer, else model.hf_assets_path); empty: texts are read as bytes, or
/// the data are ids. A torchtitan configuration may name assets that do not exist here: the path is then empty, and
/// `note` says so.
std::string text_tokenizer(ckpt::Fs& fs, const recipe::Config& config, std::string* note = nullptr);

/// The texts of one dataset path, and the folder with their tokens.
struct TextCache {
  std::string folder;     ///< RUN/cache/text-<key>; key: digest of tokenizer, settings and fingerprints of the texts
  bool there = false;     ///< the folder exists; false after prove_text_cache() has found damage
  std::string path;       ///< path of the tokenizer
  std::string tokenizer;  ///< the tokenizer's name in a data position
  std::uint32_t token_bytes = 2;
  std::uint64_t vocabulary = 0;    ///< upper bound of ids (exclusive)
  std::vector<std::string> paths;  ///< of the texts, in the order of their tokens
  std::vector<KnownFile> files;    ///< the texts as KnownFile, to be sent to other ranks
  std::vector<std::string> left_out;
  std::vector<std::string> warnings;  ///< from make_text_cache(): texts that look like something else
};

/// Finds the texts that `dataset_path` names, and the folder of their tokens. Writes nothing. `key`: the configuration
/// key that has `dataset_path` as its value, for messages. `known`: files that another rank has read. `stored`: the
/// data that a run resumes with; their order is kept if the files are the same. `other`: the result for other texts of
/// the same run, so that the tokenizer is not parsed again. \error kInvalid: missing files, files that are not text, a
/// tokenizer that cannot be used or has more than `vocab_size` ids; kUnsupported: the kind of tokenizer
ckpt::Result<TextCache> find_text_cache(ckpt::Fs& fs, const recipe::Config& config, const std::string& dataset_path,
                                        const std::string& key, std::uint64_t vocab_size,
                                        std::span<const KnownFile> known, const ckpt::DataPosition* stored,
                                        const TextCache* other = nullptr);

/// Reads the whole folder, if it exists, and checks its digests. If it is damaged or unreadable, sets `cache.there` to
/// false and passes a message to `say`. \error kInterrupted, kTerminated (by `stop`), kFailed
ckpt::Status prove_text_cache(ckpt::Fs& fs, const ckpt::CancelToken& stop,
                              const std::function<void(const std::string&)>& say, TextCache& cache);

/// Creates the folder atomically; called by the rank that holds the run lock. `say` gets log messages. \error as
/// corpus::tokenize; kInterrupted, kTerminated (by `stop`)
ckpt::Status make_text_cache(ckpt::Fs& fs, const recipe::Config& config, const ckpt::CancelToken& stop,
                             const std::function<void(const std::string&)>& say, TextCache& cache);

/// `config`, changed so that it reads tokens in place of texts. `caches` has one entry for training or for each set of
/// a mixture, then one for a validation with a path of its own.
recipe::Config reading_tokens(recipe::Config config, std::span<const TextCache> caches);

}  // namespace titan::train
