#pragma once
// tokenizer.json of a small vocabulary: the letters of all bytes (id b is byte b), then what merges make.
#include <string>
#include <utility>
#include <vector>

#include "ckpt/base/utf8.h"
#include "recipe/text/byte_alphabet.h"

namespace titan::recipe::testing {

inline std::string letter(unsigned char byte) {
  std::uint32_t code = 0;
  while (byte_of_letter(code) != byte) ++code;
  std::string text;
  ckpt::append_utf8(text, code);
  return text;
}

inline std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "\"";
}

/// Members of "model" for the merges; each half is written in letters of bytes. Merge k makes the id 256 + k.
inline std::string small_model(const std::vector<std::pair<std::string, std::string>>& merges,
                               const std::string& more = "") {
  std::string vocabulary, list;
  for (int byte = 0; byte < 256; ++byte)
    vocabulary +=
        (byte == 0 ? "" : ",") + quoted(letter(static_cast<unsigned char>(byte))) + ":" + std::to_string(byte);
  int id = 256;
  for (const auto& [left, right] : merges) {
    vocabulary += "," + quoted(left + right) + ":" + std::to_string(id++);
    list += (list.empty() ? "[" : ",[") + quoted(left) + "," + quoted(right) + "]";
  }
  return "\"model\":{\"type\":\"BPE\",\"vocab\":{" + vocabulary + "},\"merges\":[" + list + "]" + more + "}";
}

/// GPT-2's cuts; merges "l l" (256), "he" (257), "ll o" (258), "he llo" (259), " he" with the letter of a space (260);
/// "<eos>" is 300 and special.
inline std::string small_tokenizer() {
  return "{\"added_tokens\":[{\"id\":300,\"content\":\"<eos>\",\"special\":true,\"normalized\":false}],\"normalizer\":"
         "null,"
         "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},\"post_processor\":null,"
         "\"decoder\":{\"type\":\"ByteLevel\"}," +
         small_model({{"l", "l"}, {"h", "e"}, {"ll", "o"}, {"he", "llo"}, {letter(' '), "he"}}) + "}";
}

}  // namespace titan::recipe::testing
