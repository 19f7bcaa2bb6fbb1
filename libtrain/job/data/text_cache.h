#pragma once
// Texts that a tokenizer.json turns into ids: once, before a run reads them, into a folder of tokens beside the run.
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/result.h"
#include "ckpt/model/data_position.h"
#include "libtrain/job/data/dataset.h"

namespace titan::train {

/// The path of the tokenizer that texts are read by (model.tokenizer, else model.hf_assets_path); empty: as bytes, or
/// the data are ids. A file of torchtitan's may name assets that are not here: it has none, and `note` says so.
std::string text_tokenizer(const recipe::Config& config, std::string* note = nullptr);

/// The texts of one dataset path, and the folder of tokens that stands for them.
struct TextCache {
  std::string folder;     ///< RUN/cache/text-<key>: of tokenizer, settings and the texts' fingerprints
  bool there = false;     ///< whole
  std::string path;       ///< of the tokenizer
  std::string tokenizer;  ///< as a data position says it
  std::uint32_t token_bytes = 2;
  std::uint64_t vocabulary = 0;    ///< its ids are below
  std::vector<std::string> paths;  ///< of the texts, in the order of their tokens
  std::vector<KnownFile> files;    ///< the same, as they are known
  std::vector<std::string> left_out;
};

/// Looks at the texts of `dataset_path`, which `key` names, and for their tokens; writes nothing. `known`: files that
/// another rank has read; `stored`: the data that a run goes on with, whose order is kept where these are the same;
/// `other`: found for other texts of the same run, so that the tokenizer is not read again. \error kInvalid: no such
/// files, another kind of file, a tokenizer that cannot be used or has more than `vocab_size` ids; kUnsupported: the
/// tokenizer
ckpt::Result<TextCache> find_text_cache(const recipe::Config& config, const std::string& dataset_path,
                                        const std::string& key, std::uint64_t vocab_size,
                                        std::span<const KnownFile> known, const ckpt::DataPosition* stored,
                                        const TextCache* other = nullptr);

/// Reads the folder whole, if it is there, and compares it with its digests. One that is damaged or cannot be read is
/// not `there` any more, and `say` gets a line. \error kInterrupted, kTerminated (by `stop`), kFailed
ckpt::Status prove_text_cache(const ckpt::CancelToken& stop, const std::function<void(const std::string&)>& say,
                              TextCache& cache);

/// Makes the folder, by the one rank that holds the run's lock: whole, or not at all. `say` gets lines for the log.
/// \error as corpus::tokenize; kInterrupted, kTerminated (by `stop`)
ckpt::Status make_text_cache(const recipe::Config& config, const ckpt::CancelToken& stop,
                             const std::function<void(const std::string&)>& say, TextCache& cache);

/// `config` as it reads the tokens of its texts; `caches` has those of training, of each set of a mixture, then those
/// of the validation where it has a path of its own.
recipe::Config reading_tokens(recipe::Config config, std::span<const TextCache> caches);

}  // namespace titan::train
