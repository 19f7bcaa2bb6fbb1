#pragma once
// The store of c10d by which the ranks of one attempt find each other, and what is asked of it before they have.
#include <chrono>
#include <functional>
#include <string>

#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "libtrain/engine/parallel/meeting.h"
#include "libtrain/job/launch/launch_env.h"

namespace titan::train {

/// A store that answers does so within milliseconds; what is left of a deadline is never given as less than this.
inline constexpr std::chrono::milliseconds kLeastOfStore{1'000};
/// How often somebody who waits for a thread that asks the store looks around.
inline constexpr std::chrono::milliseconds kLookAtStore{100};

/// "rank 3".
std::string rank_name(const LaunchEnv& env);

/// A connection of its own to the store; `serve`: this process keeps it. c10d connects only after we have, for its own
/// errors do not say what is wrong. `meeting` hears what is waited for. \error CommError
c10::intrusive_ptr<c10d::Store> open_store(const LaunchEnv& env, bool serve, std::chrono::milliseconds timeout,
                                           Meeting& meeting);

/// Of the keys of one attempt of a run: stores of torchrun's agent outlive attempts.
std::string prefix_of(const LaunchEnv& env);

/// What c10d itself says of lost peers and GPUs would bury the one message that names them. C++ programs must ask for
/// the level.
void quieten_c10d();

/// Leaves `own` as this rank's last word, or where it is empty returns that of a rank that left; "" where there is none
/// or the store does not answer.
std::string exchange_words(const LaunchEnv& env, const std::string& own);

/// The answer of rank 0 to a question that every rank has before it connects. Where torchrun's agent keeps a store,
/// rank 0 alone asks, and the others find the answer there; elsewhere, and when the store does not answer within
/// `timeout`, each rank asks for itself.
std::string word_of_rank_0(const LaunchEnv& env, std::chrono::milliseconds timeout,
                           const std::function<std::string()>& ask);

}  // namespace titan::train
