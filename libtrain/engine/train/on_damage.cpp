#include "libtrain/engine/train/on_damage.h"

#include <algorithm>

#include "ckpt/read/second_look.h"
#include "libtrain/engine/parallel/rendezvous.h"
#include "libtrain/job/control/agree.h"
#include "libtrain/job/control/message.h"
#include "libtrain/job/metrics/log.h"
#include "libtrain/job/start/read_errors.h"

namespace titan::train {

using ckpt::Status;

// Rank 0 reads the step. If it finds damage, rank 1 reads the step too.
void prove_last_step(RunState& run) {
  const Status first =
      agree(*run.world.io, run.root() ? read_whole(run.fs, run.start.decision.path, run.start.id, run.inputs.stop)
                                      : ckpt::ok_status());
  if (first.code == ckpt::Code::kCorrupt) {
    Status second;
    if (run.world.rank == 1 % run.world.size)
      second = read_whole(run.fs, run.start.decision.path, run.start.id, run.inputs.stop);
    if (second.code == ckpt::Code::kCorrupt)
      second = ckpt::ok_status();
    else if (run.world.rank == 1 % run.world.size && second.ok())
      second = ckpt::failed("damage in " + run.start.decision.path + " was met once, and not when it was read again")
                   .with_hint("start again; if it comes back, look at the memory of rank 0's host");
    check(agree(*run.world.io, second));
  }
  check(first);
}

void skip_unreadable_step(RunState& run, const Status& error) {
  const auto mine = run.watch.place();
  const std::vector<std::string> places = run.world.io->all_gather(mine ? encode_place(*mine) : "");
  const auto met = std::find_if(places.begin(), places.end(), [](const std::string& place) { return !place.empty(); });
  if (met == places.end()) throw StatusError(error);
  const int second = static_cast<int>((met - places.begin() + 1) % run.world.size);
  bool near = false;
  const auto decide = [&]() -> ckpt::Result<std::uint64_t> {
    TITAN_ASSIGN_OR_RETURN(const StartRequest request, start_request(run.inputs, run.permission));
    TITAN_ASSIGN_OR_RETURN(const ckpt::UnreadablePlace place, ckpt::decode_place(*met));
    near = is_near_place(request, place);
    return step_to_skip(run.config(), request, error, place,
                        [&](const ckpt::UnreadablePlace& at) { return read_again(run.fs, at); });
  };
  const ckpt::Result<std::uint64_t> step = run.world.rank == second ? decide() : ckpt::Result<std::uint64_t>(0);
  check(agree(*run.world.io, step.status()));
  const std::string bytes =
      run.world.io->broadcast(MessageWriter().number(step.ok() ? *step : 0).number(near ? 1 : 0).take(), second);
  MessageReader word(bytes);
  const std::uint64_t passed = word.number();
  if (!(word.number() != 0 ? run.lost.near : run.lost.unreadable).insert(passed).second) throw StatusError(error);
  if (run.root()) log_warn(skipped_step_line(passed, error));
  run.watch.forget();
}

// The second rank reads what the first one had loaded: its leaves, not the manifest and the JSON members. A save that
// replaces a damaged step checks the damage again.
void confirm_damage(RunState& run, const Status& error) {
  const std::optional<int> first = first_rank(*run.world.io, run.lost.met_here);
  run.lost.met_here = false;
  if (!first) return;
  const int second = (*first + 1) % run.world.size;
  Status verdict;
  if (run.world.rank == second) {
    const bool moments = !run.start.continuation.fresh_optimizer;
    verdict = ckpt::read_part(run.fs, run.start.decision.path, run.start.source->manifest(),
                              {run.plan().parameters, *run.engine.owners, static_cast<std::uint32_t>(*first), moments},
                              run.inputs.stop);
    if (verdict.ok()) {
      verdict = ckpt::failed("rank " + std::to_string(*first) + " met damage in " + run.start.decision.path +
                             " that a second reader does not find in the store")
                    .with_hint("start again; if it comes back, look at the memory and the network of that rank's host");
      verdict.causes.push_back(error.message);
    } else if (verdict.code == ckpt::Code::kCorrupt) {
      verdict = ckpt::ok_status();
    }
  }
  check(agree(*run.world.io, verdict));
}

}  // namespace titan::train
