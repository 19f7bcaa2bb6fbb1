#pragma once
// Finds the tokenizer that made the training data, so that checkpoints can store its files with the model.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/read/model_files.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::recipe {
struct Config;
}

namespace titan::train {

/// The tokenizer recorded in token folders by `titan-ckpt tokenize`.
struct DataTokenizer {
  std::vector<ckpt::ModelFilePlace> places;  ///< the files of the tokenizer
  std::optional<std::uint32_t> begin;        ///< id at the beginning of each document
  std::vector<std::uint32_t> ends;           ///< ids at the end of documents, ascending
};
/// The tokenizer of the training data. If they are ids in other files than token folders: the files of model.tokenizer
/// or model.hf_assets_path, if they exist. If they are text: none. \error kInvalid: two folders were made with
/// different tokenizers; also as find_data_files()
ckpt::Result<DataTokenizer> tokenizer_of_data(ckpt::Fs& fs, const recipe::Config& config);

/// The files that a run's checkpoints store with the model (ckpt::ModelFile), adapted to its data.
struct TakenFiles {
  std::vector<ckpt::ModelFile> files;  ///< sorted by member name
  std::vector<std::string> of_data;    ///< names of those that were taken from the data's tokenizer, or changed for it
  std::vector<std::string> notes;      ///< messages for the log
};
/// If `files` have no tokenizer, or one in which ids mean other text than in the data's, replaces their tokenizer files
/// by `read`, the files that were read from tokenizer.places. Also adds the end-of-document ids of the data to the
/// end-of-text ids (eos_token_id) in generation_config.json and config.json.
TakenFiles with_data_tokenizer(std::vector<ckpt::ModelFile> files, const DataTokenizer& tokenizer,
                               std::vector<ckpt::ModelFile> read);

}  // namespace titan::train
