// read_tensor CKPT [TENSOR]: lists the tensors of a checkpoint, or prints the first values of a row of one.
#include <titan/ckpt/checkpoint.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <vector>

namespace {

int fail(const titan::Status& status) {
  std::fprintf(stderr, "error: %s: %s\n", status.path.c_str(), status.text().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: read_tensor CKPT|RUN@latest [TENSOR]\n");
    return 2;
  }
  const titan::Result<titan::Checkpoint> checkpoint = titan::Checkpoint::open(argv[1]);
  if (!checkpoint.ok()) return fail(checkpoint.status());
  std::printf("step %llu  id %s\n", static_cast<unsigned long long>(checkpoint->step()), checkpoint->id().c_str());

  if (argc == 2) {
    for (const titan::TensorInfo& tensor : checkpoint->tensors()) {
      std::printf("%-10s %-8s %s [", tensor.component.c_str(), titan::dtype_name(tensor.dtype), tensor.name.c_str());
      for (const std::uint64_t size : tensor.shape) std::printf(" %llu", static_cast<unsigned long long>(size));
      std::printf(" ]\n");
    }
    return 0;
  }

  const titan::TensorInfo* tensor = checkpoint->find(argv[2]);
  if (tensor == nullptr || tensor->dtype != titan::DType::kFloat32) {
    std::fprintf(stderr, "error: no float32 tensor %s\n", argv[2]);
    return 1;
  }
  // The first row, and of it the first eight columns: the rest of the tensor is not read.
  std::vector<titan::Range> slice;
  std::uint64_t count = 1;
  for (std::size_t d = 0; d < tensor->shape.size(); ++d) {
    slice.push_back({0, std::min<std::uint64_t>(tensor->shape[d], d + 1 == tensor->shape.size() ? 8 : 1)});
    count *= slice.back().end;
  }
  std::vector<float> values(count);
  const titan::Status read = checkpoint->read(tensor->name, slice, std::as_writable_bytes(std::span(values)));
  if (!read.ok()) return fail(read);
  for (const float value : values) std::printf("%g\n", value);
}
