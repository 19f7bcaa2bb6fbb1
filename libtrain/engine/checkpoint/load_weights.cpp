#include "libtrain/engine/checkpoint/load_weights.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

#include "libtrain/engine/device/host_values.h"
#include "libtrain/job/start/finite_weights.h"

namespace titan::train {
namespace {

using ckpt::Result;
using ckpt::Status;

// Elements read at a time: a multiple of a leaf of the default size, so that no leaf is read twice to check its digest.
constexpr std::uint64_t kRunElements = 16 * ckpt::kDefaultLeafElements;

Result<at::ScalarType> scalar_type(const ckpt::WeightInfo& weight) {
  switch (weight.dtype) {
    case ckpt::DType::kF32: return at::kFloat;
    case ckpt::DType::kBF16: return at::kBFloat16;
    case ckpt::DType::kF16: return at::kHalf;
    case ckpt::DType::kF64: return at::kDouble;
    default: break;
  }
  return ckpt::unsupported("weight " + weight.name + " is stored as " + std::string(ckpt::dtype_name(weight.dtype)) +
                           ": expected a float type");
}

// Refuses weights that are NaN or infinite. Otherwise the first step would fail, and its data would be blamed.
Status check_run(const ckpt::WeightSource& source, std::size_t weight, const at::Tensor& run, std::uint64_t first) {
  const at::Tensor finite = at::isfinite(run.to(at::kFloat));
  if (finite.all().item<bool>()) return ckpt::ok_status();
  const auto at = at::logical_not(finite).to(at::kByte).argmax().item<std::int64_t>();
  return not_finite(source, weight, first + static_cast<std::uint64_t>(at), run[at].item<double>());
}

}  // namespace

Status load_weights(const ckpt::WeightSource& source, const WeightMatch& match, const RankStages& stages,
                    const ckpt::CancelToken& stop) {
  std::map<std::size_t, const WeightMatch::Pair*> pair_of;  // by parameter
  for (const WeightMatch::Pair& pair : match.loaded) pair_of[pair.parameter] = &pair;
  for (const StageParameter* parameter : stages.parameters()) {
    const auto found = pair_of.find(parameter->index);
    if (found == pair_of.end()) continue;
    const WeightMatch::Pair& pair = *found->second;
    const ckpt::WeightInfo& weight = source.tensors()[pair.weight];
    TITAN_ASSIGN_OR_RETURN(const at::ScalarType type, scalar_type(weight));
    at::Tensor flat = parameter->master.view({-1});
    const auto elements = static_cast<std::uint64_t>(flat.numel());
    at::Tensor buffer = at::empty({static_cast<std::int64_t>(std::min(elements, kRunElements))}, type);
    for (std::uint64_t first = 0; first < elements; first += kRunElements) {
      TITAN_RETURN_IF_ERROR(stop.check());
      const auto count = static_cast<std::int64_t>(std::min(kRunElements, elements - first));
      at::Tensor run = buffer.narrow(0, 0, count);
      TITAN_RETURN_IF_ERROR(read_matched(source, pair, first, mutable_host_bytes(run)));
      TITAN_RETURN_IF_ERROR(check_run(source, pair.weight, run, first));
      flat.narrow(0, static_cast<std::int64_t>(first), count).copy_(run);
    }
  }
  return ckpt::ok_status();
}

}  // namespace titan::train
