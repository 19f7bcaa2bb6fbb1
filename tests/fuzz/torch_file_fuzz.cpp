// Any bytes as a file of torch.save: whatever opens has tensors that lie within the file, and nothing is executed. So
// do the moments of an optimizer.
#include <algorithm>
#include <cstdlib>

#include "converters/torch_save/torch_file.h"
#include "converters/trainer/trainer_state.h"
#include "tests/fuzz/bytes_file.h"
#include "tests/fuzz/mend_crc.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace titan;
  using namespace titan::convert;
  fuzz::BytesFolder fs({{"/x.pt", std::as_bytes(std::span(data, size))}});
  const auto file = TorchFile::open(fs, "/x.pt");
  if (!file.ok()) return 0;
  const auto nodes = static_cast<NodeId>(std::min<std::size_t>(file->pickle().nodes(), 10'000));
  for (NodeId node = 0; node < nodes; ++node) {
    static_cast<void>(file->number(node).ok());
    const auto tensor = file->tensor(node);
    if (!tensor.ok() || tensor->elements == 0) continue;
    const std::uint64_t unit = torch_dtype_size(tensor->dtype);
    if (tensor->offset > size || tensor->elements > (size - tensor->offset) / unit) std::abort();
  }
  // The same file as the optimizer's state of a model with an embedding of 2 x 3, a norm and a tied head.
  recipe::ModelDims model{3, 0, 1, 1, 2, 1, 2};
  model.tied = true;
  PieceFiles files(fs);
  const auto state = read_trainer_state(fs, {"/x.pt"}, model, files);
  if (!state.ok()) return 0;
  for (const auto& [name, moments] : *state)
    for (const Segment& segment : moments.exp_avg.pieces[0].segments)
      if (segment.offset > size || segment.elements > size - segment.offset) std::abort();
  return 0;
}
