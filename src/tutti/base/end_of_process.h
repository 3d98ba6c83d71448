// What a process writes last, however it ends: by exit(), by an exception that nobody catches, by SIGINT or by SIGTERM.
#pragma once

namespace tutti {

// `write` is called once when this process ends; the last one asked for comes first. exit() calls it on its own thread. An
// uncaught exception and a signal have it called on another thread, while the rest of the program may still run, and wait 30 s
// for it at most; then the process ends as it would have: std::terminate() goes on, or the signal takes its default action.
//
// A signal is watched only if its action is the default one when this is first called. A handler that the program installs later
// takes its place: then nothing is written unless the program exits. A second signal, more than a second later, ends the process
// at once. A forked child writes nothing.
void write_at_end_of_process(void (*write)() noexcept);

}  // namespace tutti
