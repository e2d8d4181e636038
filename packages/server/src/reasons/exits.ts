/** What the number that a script ended with means. */
import { constants } from "node:os";

/** What usually sends a signal, and what helps. */
const signals: Record<string, string> = {
  SIGKILL: "Running out of memory is the usual cause.",
  SIGTERM: "Millrace did not send it: the script itself, a program that it started or somebody on the machine did.",
  SIGSEGV:
    "That is a segmentation fault: native code, usually of a package, used memory that it may not use. With PYTHONFAULTHANDLER=1 in its environment a Python script says where.",
  SIGBUS: "A file that was mapped into memory was cut, or /dev/shm is full.",
  SIGABRT: "It ended itself after an error, such as one of native code or a failed allocation of memory.",
  SIGILL: "Native code, usually of a package, was built for another processor.",
  SIGFPE: "Native code, usually of a package, divided by zero or the like.",
  SIGPIPE: "It wrote to a program that had ended.",
  SIGXFSZ: "A file grew beyond the larger of MILLRACE_JOB_LOG and MILLRACE_JOB_DISK of the server.",
};

const codes: Record<number, string> = {
  126: "A file that was to run cannot be run: it is not executable, or made for another machine.",
  127: "A program was not found.",
};

/** Undefined: the number is not that of a signal. */
export function signalOf(code: number): string | undefined {
  return Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
}

export function describeExit(code: number): string {
  const signal = signalOf(code);
  const what = signal
    ? `The script was ended by signal ${code - 128} (${signal}).`
    : `The script ended with exit code ${code}.`;
  const hint = signal ? signals[signal] : codes[code];
  return hint ? `${what} ${hint}` : what;
}
