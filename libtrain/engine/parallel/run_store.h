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

/// Minimum timeout of a call to the store. A working store answers within milliseconds.
inline constexpr std::chrono::milliseconds kLeastOfStore{1'000};
/// Polling interval while another thread calls the store.
inline constexpr std::chrono::milliseconds kLookAtStore{100};

/// Opens a connection of its own to the store at MASTER_ADDR and MASTER_PORT. `serve`: this process hosts the store.
/// Unless Titan's launcher has opened the port, this function first connects to the address without c10d, whose errors
/// do not say what is wrong. `meeting` is told what this function waits for. \error CommError
c10::intrusive_ptr<c10d::Store> open_store(const LaunchEnv& env, bool serve, std::chrono::milliseconds timeout,
                                           Meeting& meeting);

/// The prefix of the store's keys for one attempt of a run, since the store of torchrun's agent outlives attempts.
std::string prefix_of(const LaunchEnv& env);

/// Turns off c10d's log messages about lost peers and GPUs, among which Titan's message, which names the lost rank,
/// would be overlooked.
void quieten_c10d();

/// If `own` is not empty, stores it as the reason why this rank left (leave_word()) and returns "". If it is empty,
/// returns the reason of the first rank that left; "" if there is none, or if the store does not answer within 2 s.
std::string exchange_words(const LaunchEnv& env, const std::string& own);

/// The value of `ask()`, which all ranks need before they connect. If torchrun's agent hosts a store, only rank 0 calls
/// ask(), and the other ranks read the value from the store. Otherwise, or if the store does not answer within
/// `timeout`, each rank calls ask() itself.
std::string word_of_rank_0(const LaunchEnv& env, std::chrono::milliseconds timeout,
                           const std::function<std::string()>& ask);

}  // namespace titan::train
