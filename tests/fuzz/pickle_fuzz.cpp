// Any bytes as a pickle: either an error that names an opcode, or a tree that can be walked and read as an item or as
// metadata.
#include <cstdlib>
#include <string>

#include "converters/dcp/metadata.h"
#include "converters/pickle/item.h"
#include "converters/pickle/pickle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace titan::convert;
  PickleLimits limits;
  limits.nodes = 100'000;
  const auto pickle = Pickle::decode("input", std::string(reinterpret_cast<const char*>(data), size), limits);
  if (!pickle.ok()) {
    if (pickle.status().message.empty()) std::abort();
    return 0;
  }
  if (pickle->describe(pickle->root()).empty()) std::abort();
  if (const auto item = parse_item(*pickle); item.ok()) {
    if (const auto* value = std::get_if<ItemValue>(&*item)) {
      if (value->to_string().empty()) std::abort();
    } else {
      static_cast<void>(std::get<ItemTensor>(*item).contiguous());
    }
  }
  static_cast<void>(dcp::parse_metadata(*pickle).ok());
  return 0;
}
