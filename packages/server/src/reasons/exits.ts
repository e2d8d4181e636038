/** Explains exit codes and signals. */
import { constants } from "node:os";

/** For each signal, its usual cause and what to do. */
const signals: Record<string, string> = {
  SIGKILL: "Running out of memory is the usual cause.",
  SIGTERM:
    "Millrace did not send it: the script itself, a program that it started, the cluster or somebody on the machine did.",
  SIGSEGV:
    "That is a segmentation fault: native code, usually in a package, accessed invalid memory. Set PYTHONFAULTHANDLER=1 in the environment of a Python job to see where.",
  SIGBUS: "A memory-mapped file was truncated, or /dev/shm is full.",
  SIGABRT: "The program aborted itself, for example after an error in native code or a failed memory allocation.",
  SIGILL: "Native code, usually in a package, was built for another processor.",
  SIGFPE: "Native code, usually in a package, made an arithmetic error such as a division by zero.",
  SIGPIPE: "The program wrote to a pipe whose reader had ended.",
  SIGXFSZ:
    "A file exceeded the size limit, which is the larger of the server settings MILLRACE_JOB_LOG and MILLRACE_JOB_DISK.",
};

/** Meaning of the exit codes that shells use themselves. */
const codes: Record<number, string> = {
  126: "A program could not be started: its file is not executable, or was built for another kind of machine.",
  127: "A program was not found.",
};

/** Returns the name of the signal if the exit code is 128 plus the number of a signal; otherwise undefined. */
export function signalOf(code: number): string | undefined {
  return Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
}

/** Describes an exit code in one or two sentences. */
export function describeExit(code: number): string {
  const signal = signalOf(code);
  const what = signal
    ? `The script was ended by signal ${code - 128} (${signal}).`
    : `The script ended with exit code ${code}.`;
  const hint = signal ? signals[signal] : codes[code];
  return hint ? `${what} ${hint}` : what;
}
