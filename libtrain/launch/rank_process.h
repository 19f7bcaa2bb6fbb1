#pragma once
// What a process does for itself before it becomes a rank.
#include "ckpt/base/status.h"

namespace titan::train {

/// Call first in a rank's main, after install_stop_handlers(): ties its life to the launcher's, if it has one. A rank of ours dies with it;
/// one of torchrun's is asked to stop, so that it saves, when the agent dies. \error kFailed: our launcher is already gone
ckpt::Status bind_to_launcher();

/// Makes sure that OMP_NUM_THREADS, MKL_NUM_THREADS and MKL_CBWR were set before this process started (their libraries
/// read them once, at load time): executes the program again, once, with the same arguments where they were not.
/// Call it from main before any thread or socket exists; open files marked close-on-exec are lost.
void ensure_thread_env(int threads);
/// The threads with which ensure_thread_env executed the program again; 0 in a process that has not come to that yet.
int threads_of_restart();

}  // namespace titan::train
