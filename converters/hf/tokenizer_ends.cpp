#include "converters/hf/tokenizer_ends.h"

#include <algorithm>

#include "converters/companions.h"
#include "converters/hf/hf_checkpoint.h"
#include "recipe/text/tokenizer.h"

namespace titan::convert {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

Result<std::string> read(Fs& fs, const std::vector<Companion>& companions, const std::string& name) {
  const auto known = std::ranges::find(companions, name, &Companion::name);
  return known == companions.end() ? std::string() : read_companion(fs, *known, kMostBytes);
}

}  // namespace

Result<TokenizerEnds> tokenizer_ends(Fs& fs, const std::vector<Companion>& companions) {
  TITAN_ASSIGN_OR_RETURN(const std::string json, read(fs, companions, kHfTokenizer));
  TITAN_ASSIGN_OR_RETURN(const std::string config, read(fs, companions, "tokenizer_config.json"));
  if (json.empty()) return TokenizerEnds{};
  const Result<recipe::Tokenizer> tokenizer = recipe::Tokenizer::parse(kHfTokenizer, json, config);
  return tokenizer.ok() ? TokenizerEnds{tokenizer->bos(), tokenizer->eos()} : TokenizerEnds{};
}

}  // namespace titan::convert
