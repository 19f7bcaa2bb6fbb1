#pragma once
// What a process does for itself before it becomes a rank.

namespace titan::train {

/// Call first in a rank's main: ties its life to the launcher's, if it has one; exits with 3 when that is already gone.
void bind_to_launcher();

/// Makes sure that OMP_NUM_THREADS, MKL_NUM_THREADS and MKL_CBWR were set before this process started (their libraries
/// read them once, at load time): executes the program again, once, with the same arguments where they were not.
/// Call it from main before any thread or socket exists; open files marked close-on-exec are lost.
void ensure_thread_env(int threads);
/// The threads with which ensure_thread_env executed the program again; 0 in a process that has not come to that yet.
int threads_of_restart();

}  // namespace titan::train
