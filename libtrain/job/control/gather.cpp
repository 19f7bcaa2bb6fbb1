#include "libtrain/job/control/gather.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace titan::train {
namespace {

constexpr std::uint64_t kTag = 0x7fffffe0;

std::span<char> as_bytes(std::span<std::uint64_t> values) {
  return {reinterpret_cast<char*>(values.data()), values.size_bytes()};
}

void send(Control& all, std::string_view bytes, int dst) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kLargestMessage)))
    all.send_bytes(bytes.substr(0, kLargestMessage), dst, kTag);
}

void receive(Control& all, std::span<char> bytes, int src) {
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), kLargestMessage)))
    all.recv_bytes(bytes.first(std::min(bytes.size(), kLargestMessage)), src, kTag);
}

/// Sends the sizes, then all bytes concatenated.
void send_all(Control& all, std::vector<std::uint64_t>& sizes, std::string_view bytes, int dst) {
  const std::span<char> header = as_bytes(sizes);
  send(all, {header.data(), header.size()}, dst);
  send(all, bytes, dst);
}

struct Received {
  std::vector<std::uint64_t> sizes;
  std::string bytes;
};

Received receive_all(Control& all, std::size_t count, int src) {
  Received received;
  received.sizes.resize(count);
  receive(all, as_bytes(received.sizes), src);
  received.bytes.resize(std::accumulate(received.sizes.begin(), received.sizes.end(), std::uint64_t{0}));
  receive(all, received.bytes, src);
  return received;
}

}  // namespace

int gather_width(int size) {
  int width = 1;
  while (width * width < size) ++width;
  return width;
}

void gather_to_root(Control& all, std::string_view mine, const std::function<void(int, std::string_view)>& take) {
  const int width = gather_width(all.size()), me = all.rank();
  const int leader = me - me % width, end = std::min(leader + width, all.size());
  std::vector<std::uint64_t> sizes{mine.size()};
  if (me != leader) return send_all(all, sizes, mine, leader);

  if (me == 0) {
    take(0, mine);
    for (int member = 1; member < end; ++member) take(member, receive_all(all, 1, member).bytes);
    for (int other = width; other < all.size(); other += width) {
      const Received group = receive_all(all, static_cast<std::size_t>(std::min(width, all.size() - other)), other);
      std::string_view rest = group.bytes;
      for (std::size_t i = 0; i < group.sizes.size(); ++i) {
        take(other + static_cast<int>(i), rest.substr(0, group.sizes[i]));
        rest.remove_prefix(group.sizes[i]);
      }
    }
    return;
  }
  std::string bytes(mine);
  for (int member = me + 1; member < end; ++member) {
    const Received received = receive_all(all, 1, member);
    sizes.push_back(received.bytes.size());
    bytes += received.bytes;
  }
  send_all(all, sizes, bytes, 0);
}

void gather_to(Control& all, std::string_view mine, std::span<const std::uint32_t> to,
               const std::function<void(int, std::string_view)>& take) {
  const auto me = static_cast<std::uint32_t>(all.rank());
  if (to[me] != me) {
    std::vector<std::uint64_t> sizes{mine.size()};
    return send_all(all, sizes, mine, static_cast<int>(to[me]));
  }
  for (std::uint32_t rank = 0; rank < to.size(); ++rank)
    if (rank != me && to[rank] == me) take(static_cast<int>(rank), receive_all(all, 1, static_cast<int>(rank)).bytes);
}

}  // namespace titan::train
