#include "libtrain/engine/model/kv_cache.h"

#include <algorithm>

#include <ATen/ATen.h>

namespace titan::train {
namespace {

constexpr std::int64_t kTime = 2, kLeast = 256;

// Doubles the capacity if needed, so that a token is copied once on average.
void make_room(at::Tensor& held, const at::Tensor& like, std::int64_t length, std::int64_t needed) {
  if (held.defined() && held.size(kTime) >= needed) return;
  at::Tensor larger =
      at::empty({1, like.size(1), std::max({kLeast, needed, 2 * length}), like.size(3)}, like.options());
  if (length > 0) larger.narrow(kTime, 0, length).copy_(held.narrow(kTime, 0, length));
  held = larger;
}

}  // namespace

KvCache::KeysValues KvCache::append(std::size_t layer, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK) {
  KeysValues& held = layers_.at(layer);
  const std::int64_t more = k_BGTK.size(kTime), all = length_ + more;
  const auto put = [&](at::Tensor& to, const at::Tensor& from) {
    make_room(to, from, length_, all);
    to.narrow(kTime, length_, more).copy_(from);
    return to.narrow(kTime, 0, all);
  };
  return {put(held.k_BGTK, k_BGTK), put(held.v_BGTK, v_BGTK)};
}

}  // namespace titan::train
