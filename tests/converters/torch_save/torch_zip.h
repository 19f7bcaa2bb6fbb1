#pragma once
// Files of torch.save for tests: a zip of stored entries around a pickle that the test spells.
#include <string>
#include <vector>

#include "converters/pickle/crc32.h"
#include "tests/converters/gguf/gguf_builder.h"
#include "tests/support/files.h"

namespace titan::convert::testing {

inline std::string floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

/// `storages`: the bytes of data/0, data/1, ...; `saved_as`: the name that torch was given, "archive" for a stream.
inline std::string torch_file(const std::string& pickle, const std::vector<std::string>& storages,
                              const std::string& saved_as = "archive") {
  std::vector<std::pair<std::string, std::string>> entries{{saved_as + "/data.pkl", pickle},
                                                           {saved_as + "/byteorder", "little"}};
  for (std::size_t i = 0; i < storages.size(); ++i)
    entries.emplace_back(saved_as + "/data/" + std::to_string(i), storages[i]);
  std::string out, directory;
  for (const auto& [name, bytes] : entries) {
    const std::string sizes = number(crc32(0, std::as_bytes(std::span(bytes))), 4) + number(bytes.size(), 4) +
                              number(bytes.size(), 4) + number(name.size(), 2) + number(0, 2);
    directory +=
        std::string("PK\1\2", 4) + number(0, 8) + number(0, 4) + sizes + number(0, 10) + number(out.size(), 4) + name;
    out += std::string("PK\3\4", 4) + number(0, 10) + sizes + name + bytes;
  }
  const std::size_t begin = out.size();
  return out + directory + std::string("PK\5\6", 4) + number(0, 4) + number(entries.size(), 2) +
         number(entries.size(), 2) + number(directory.size(), 4) + number(begin, 4) + number(0, 2);
}

}  // namespace titan::convert::testing
