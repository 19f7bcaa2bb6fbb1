#pragma once
// Bytes of every rank to rank 0 in two levels: about sqrt(ranks) leaders collect from their group and pass on what they
// got. No rank but rank 0 ever holds more than the bytes of its group, and no rank hears from more than about 2
// sqrt(ranks) others.
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "libtrain/job/talk/control.h"

namespace titan::train {

/// The most that one message carries, bytes; longer values are split.
inline constexpr std::size_t kLargestMessage = std::size_t{2} << 20;

/// How many consecutive ranks form a group of `size` ranks; the first of them leads.
int gather_width(int size);

/// Calls `take` on rank 0 with every rank's `mine`, in rank order, as it arrives; collective. The bytes are valid
/// during the call.
void gather_to_root(Control& all, std::string_view mine,
                    const std::function<void(int rank, std::string_view bytes)>& take);

/// Calls `take` on each rank that others name, with what each of them gives, in rank order; collective among them.
/// `to` names by rank whom its bytes go to; a rank that names itself sends nothing.
void gather_to(Control& all, std::string_view mine, std::span<const std::uint32_t> to,
               const std::function<void(int rank, std::string_view bytes)>& take);

}  // namespace titan::train
