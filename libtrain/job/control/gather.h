#pragma once
// Sends bytes of every rank to rank 0 in two levels: about sqrt(ranks) leaders collect from their groups and pass the
// bytes on. Only rank 0 ever holds more than the bytes of its group, and a rank receives from at most about 2
// sqrt(ranks) others.
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "libtrain/job/control/control.h"

namespace titan::train {

/// The largest message, in bytes; a longer value is sent as several messages.
inline constexpr std::size_t kLargestMessage = std::size_t{2} << 20;

/// The number of consecutive ranks in a group, for `size` ranks in total. The first rank of a group is its leader.
int gather_width(int size);

/// Calls `take` on rank 0 with every rank's `mine`, in rank order, while the bytes arrive; collective. The bytes are
/// valid only during the call of `take`.
void gather_to_root(Control& all, std::string_view mine,
                    const std::function<void(int rank, std::string_view bytes)>& take);

/// Sends `mine` of rank r to rank to[r]; a rank with to[r] == r sends nothing. Calls `take` on each receiver with the
/// bytes of each sender, in rank order. Collective among senders and receivers.
void gather_to(Control& all, std::string_view mine, std::span<const std::uint32_t> to,
               const std::function<void(int rank, std::string_view bytes)>& take);

}  // namespace titan::train
