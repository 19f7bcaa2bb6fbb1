#pragma once
// The c10d store through which the ranks of one attempt find each other, and queries to it before ranks are connected.
#include <chrono>
#include <functional>
#include <string>

#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "libtrain/engine/parallel/meeting.h"
#include "libtrain/job/launch/launch_env.h"

namespace titan::train {

/// Minimum timeout of a call to the store, even if less time is left. A working store answers within milliseconds.
inline constexpr std::chrono::milliseconds kLeastOfStore{1'000};
/// Polling interval of code that waits for a thread that queries the store.
inline constexpr std::chrono::milliseconds kLookAtStore{100};

/// "rank 3".
std::string rank_name(const LaunchEnv& env);

/// Opens a separate connection to the store. `serve`: this process hosts the store. Titan connects to the address
/// itself before c10d does, since c10d's errors do not say what is wrong. `meeting` is told what the call waits for.
/// \error CommError
c10::intrusive_ptr<c10d::Store> open_store(const LaunchEnv& env, bool serve, std::chrono::milliseconds timeout,
                                           Meeting& meeting);

/// The prefix of the store's keys for one attempt of a run, since the store of torchrun's agent outlives attempts.
std::string prefix_of(const LaunchEnv& env);

/// Turns off c10d's messages about lost peers and GPUs, which would hide Titan's message that names them. A C++ program
/// must set c10d's log level itself.
void quieten_c10d();

/// If `own` is not empty, stores it as the reason why this rank left. If it is empty, returns the reason of a rank that
/// left, or "" if there is none or the store does not answer.
std::string exchange_words(const LaunchEnv& env, const std::string& own);

/// The value of `ask()` on rank 0, for a question that every rank has before it connects. If torchrun's agent hosts a
/// store, only rank 0 calls ask(), and the other ranks read the answer from the store. Otherwise, or if the store does
/// not answer within `timeout`, each rank calls ask() itself.
std::string word_of_rank_0(const LaunchEnv& env, std::chrono::milliseconds timeout,
                           const std::function<std::string()>& ask);

}  // namespace titan::train
