#include "libtrain/engine/checkpoint/shared_write.h"

#include <utility>
#include <vector>

#include "ckpt/save/shared_writer.h"
#include "libtrain/job/control/agree.h"
#include "libtrain/job/control/gather.h"

namespace titan::train {

using ckpt::RankReceipt;
using ckpt::Result;
using ckpt::Status;

Result<RankReceipt> write_shared(Control& io, ckpt::Fs& fs, const std::string& tmp_dir, const ckpt::Snapshot& snapshot,
                                 ckpt::TensorSource& source, unsigned threads) {
  const auto rank = static_cast<std::uint32_t>(io.rank());
  ckpt::SharedWriter writer(fs, tmp_dir, snapshot, rank, threads);
  TITAN_RETURN_IF_ERROR(agree(io, writer.make()));
  const Result<RankReceipt> written = writer.write(source);
  TITAN_RETURN_IF_ERROR(agree(io, written.status()));

  Status received;
  std::vector<RankReceipt> others;
  gather_to(io, ckpt::encode_receipt(*written), snapshot.makers, [&](int from, std::string_view bytes) {
    Result<RankReceipt> decoded = ckpt::decode_receipt(bytes);
    if (decoded.ok()) {
      others.push_back(std::move(*decoded));
    } else {
      received = ckpt::failed(decoded.status().message).wrapped("rank " + std::to_string(from));
    }
  });
  TITAN_RETURN_IF_ERROR(received);
  if (!writer.makes_files()) return RankReceipt{rank, {}, {}};
  return writer.complete(others);
}

}  // namespace titan::train
