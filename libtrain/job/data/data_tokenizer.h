#pragma once
// The tokenizer that data were made with, as files that come with a model.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/read/model_files.h"

namespace titan::recipe {
struct Config;
}

namespace titan::train {

/// What the folders of tokens that `titan-ckpt tokenize` made say of texts.
struct DataTokenizer {
  std::vector<ckpt::ModelFilePlace> places;  ///< the files of the tokenizer
  std::optional<std::uint32_t> begin;        ///< the id that each document begins with
  std::vector<std::uint32_t> ends;           ///< the ids that documents end with, ascending
};
/// Of the training data; without such folders the files of model.tokenizer, where they are there. \error kInvalid: the
/// folders, or those of the validation, are of several tokenizers; as find_data_files
ckpt::Result<DataTokenizer> tokenizer_of_data(const recipe::Config& config);

/// What came with a model, for a run that trains on data of `tokenizer`.
struct TakenFiles {
  std::vector<ckpt::ModelFile> files;  ///< by member
  std::vector<std::string> of_data;    ///< members among them that are the data's
  std::vector<std::string> notes;      ///< what a run should know
};
/// Puts the files of the tokenizer of the data (`read` of its places) among `files`, in place of those of another
/// tokenizer, for which the same ids stand for other texts. What ends documents of the data ends a text that the model
/// writes: generation_config.json and config.json say so afterwards.
TakenFiles with_data_tokenizer(std::vector<ckpt::ModelFile> files, const DataTokenizer& tokenizer,
                               std::vector<ckpt::ModelFile> read);

}  // namespace titan::train
