// Any bytes as model.safetensors.index.json: what is accepted names plain files only.
#include <cstdlib>
#include <string_view>

#include "converters/hf/hf_index.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto map = titan::convert::decode_hf_index("input", {reinterpret_cast<const char*>(data), size});
  if (!map.ok()) {
    if (map.status().message.empty()) std::abort();
    return 0;
  }
  for (const auto& [tensor, file] : *map)
    if (file.find('/') != std::string::npos || file.starts_with(".") || !file.ends_with(".safetensors")) std::abort();
  return 0;
}
