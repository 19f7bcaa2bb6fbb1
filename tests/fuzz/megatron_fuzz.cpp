// Any bytes as a step of Megatron-Core: `.metadata` and `__0_0.distcp` behind their lengths (u24, little-endian), then
// common.pt. Whatever opens can be planned, with and without a configuration or rules for names, and every tensor of a
// plan can be read.
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "converters/foreign_view.h"
#include "converters/megatron/megatron_checkpoint.h"
#include "tests/fuzz/bytes_file.h"
#include "tests/fuzz/mend_crc.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace titan::convert;
  constexpr std::uint64_t kMostBytes = 1 << 20;
  constexpr std::string_view kForm = R"({"sharded_backend": "torch_dist"})";
  auto rest = std::as_bytes(std::span(data, size));
  const auto next = [&] {
    const auto at = [&](std::size_t i) { return i < rest.size() ? std::to_integer<std::size_t>(rest[i]) : 0; };
    const std::size_t length = at(0) | at(1) << 8 | at(2) << 16;
    rest = rest.subspan(std::min<std::size_t>(3, rest.size()));
    const auto part = rest.first(std::min(length, rest.size()));
    rest = rest.subspan(part.size());
    return part;
  };
  const auto metadata = next(), items = next();
  titan::fuzz::BytesFolder fs({{"/m/.metadata", metadata},
                               {"/m/__0_0.distcp", items},
                               {"/m/common.pt", rest},
                               {"/m/metadata.json", std::as_bytes(std::span(kForm))}});
  const auto opened = megatron::megatron_format().open(fs, "/m");
  if (!opened.ok()) return 0;
  const Settings run = {{"lr_scheduler.warmup_steps", "0"}, {"optimizer.lr", "1e-3"}, {"training.steps", "20"}};
  ImportOptions ruled{.skip = {"optimizer.*", "*_layernorm.*"}};
  ruled.rules.rename = {{"decoder.*.weight", "decoder.layers.0.*.weight"}, {"output_layer.*", "embedding.*"}};
  for (const ImportOptions& options :
       {ImportOptions{}, ImportOptions{.config = run, .widen = true}, ImportOptions{.look = true}, ruled}) {
    const auto plan = (*opened)->plan(options);
    if (!plan.ok()) continue;
    const PlannedReader reader(**opened, *plan);
    for (std::size_t i = 0; i < plan->tensors.size(); ++i) {
      const std::uint64_t bytes = titan::ckpt::element_count(plan->parameters[plan->tensors[i].ref.index].shape) *
                                  titan::ckpt::dtype_size(dtype_of(**opened, plan->tensors[i]));
      if (bytes == 0 || bytes > kMostBytes) continue;
      std::vector<std::byte> out(bytes);
      if (reader.read(i, 0, out).code == titan::ckpt::Code::kInvalid) std::abort();
    }
  }
  static_cast<void>((*opened)->verify({}).ok());
  return 0;
}
