#include "libtrain/job/control/agree.h"

#include <algorithm>
#include <vector>

#include "libtrain/job/control/control.h"
#include "libtrain/job/control/message.h"

namespace titan::train {
namespace {

using ckpt::Status;

std::string pack(const Status& status) {
  MessageWriter out;
  out.number(static_cast<std::uint64_t>(status.code))
      .text(status.message)
      .text(status.hint)
      .number(static_cast<std::uint64_t>(status.error))
      .text(status.path);
  for (const std::string& cause : status.causes) out.text(cause);
  return out.take();
}

Status unpack(std::string_view bytes) {
  MessageReader in(bytes);
  Status status;
  status.code = static_cast<ckpt::Code>(in.number());
  status.message = in.text();
  status.hint = in.text();
  status.error = static_cast<int>(in.number());
  status.path = in.text();
  while (!in.at_end()) status.causes.push_back(in.text());
  return status;
}

}  // namespace

std::optional<int> first_rank(Control& all, bool mine) {
  std::int64_t count = mine ? 1 : 0;
  all.sum({&count, 1});
  if (count == 0) return std::nullopt;
  std::vector<std::int64_t> marks(static_cast<std::size_t>(all.size()));
  marks[static_cast<std::size_t>(all.rank())] = mine ? 1 : 0;
  all.sum(marks);
  return static_cast<int>(std::ranges::find_if(marks, [](std::int64_t mark) { return mark != 0; }) - marks.begin());
}

Status agree(Control& all, const Status& mine) {
  const std::optional<int> rank = first_rank(all, !mine.ok());
  if (!rank) return ckpt::ok_status();
  Status status = unpack(all.broadcast(pack(mine), *rank));
  if (*rank != all.rank()) status.message += " (rank " + std::to_string(*rank) + ")";
  return status;
}

}  // namespace titan::train
