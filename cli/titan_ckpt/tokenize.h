#pragma once
// `titan-ckpt tokenize` and `titan-ckpt tokens`: make a folder of token ids from texts, and show it.
#include <string>

#include "cli/kit/verb.h"
#include "corpus/look.h"
#include "corpus/tokenize.h"

namespace titan::cli {

class JsonOut;

std::string tokenize_text(const corpus::TokenizeReport& report, const TextStyle& style);
std::string tokenize_json(const corpus::TokenizeReport& report);
std::string tokens_text(const corpus::LookReport& report, const TextStyle& style);
std::string tokens_json(const corpus::LookReport& report);

}  // namespace titan::cli
