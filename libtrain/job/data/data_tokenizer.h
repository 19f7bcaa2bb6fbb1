#pragma once
// The tokenizer that data were made with, as files that come with a model.
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/read/model_files.h"

namespace titan::recipe {
struct Config;
}

namespace titan::train {

/// The files of the tokenizer in the folders of training.dataset_path that `titan-ckpt tokenize` made; else those of
/// model.tokenizer where they are there. \error kInvalid: they, or those of the validation, are of several tokenizers;
/// as find_data_files
ckpt::Result<std::vector<ckpt::ModelFilePlace>> tokenizer_of_data(const recipe::Config& config);

/// What a run should know that took `files` along and trains on data of the tokenizer `places`: that it is another one
/// than theirs. Empty: nothing.
std::string other_tokenizer(const std::vector<ckpt::ModelFile>& files, const std::vector<ckpt::ModelFilePlace>& places);

}  // namespace titan::train
