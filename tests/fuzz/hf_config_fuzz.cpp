// Any bytes as config.json: the parser either explains what is wrong, or gives a value that reads back as itself; a
// model that is read out of it is written and read as the same one.
#include <cstdlib>
#include <string_view>

#include "converters/hf/hf_config.h"
#include "recipe/model/manifest_dims.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace titan;
  using namespace titan::convert;
  const auto value = parse_json("input", {reinterpret_cast<const char*>(data), size});
  if (!value.ok()) return 0;
  const auto again = parse_json("again", value->write());
  require(again.ok() && *again == *value);
  const auto model = read_hf_config("input", *value);
  if (!model.ok()) return 0;
  const auto same = read_hf_config("written", write_hf_config(*model, {}, {}));
  require(same.ok() && *same == *model);
  const auto settings = recipe::dims_from_rows("settings", recipe::model_rows(*model));
  require(settings.ok() && *settings == *model);
  return 0;
}
