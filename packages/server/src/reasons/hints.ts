/** Hints on how to fix common errors of jobs. */
import { endedBySignal } from "../datachain/messages.ts";
import { describeExit } from "./exits.ts";

/** Package names of modules whose import name differs from the package name. */
const packages: Readonly<Record<string, string>> = {
  attr: "attrs",
  bs4: "beautifulsoup4",
  cv2: "opencv-python-headless",
  dateutil: "python-dateutil",
  distutils: "setuptools",
  docx: "python-docx",
  dotenv: "python-dotenv",
  fitz: "PyMuPDF",
  git: "GitPython",
  jwt: "PyJWT",
  magic: "python-magic",
  PIL: "Pillow",
  pkg_resources: "setuptools",
  psycopg2: "psycopg2-binary",
  skimage: "scikit-image",
  sklearn: "scikit-learn",
  yaml: "PyYAML",
};

/** Matches the messages with which programs report a full file system. */
export const fullDevice = /\[Errno 28\]|no space left on device|database or disk is full/i;

type Hint = (match: RegExpExecArray) => string;

const hints: readonly (readonly [RegExp, Hint])[] = [
  [
    /ModuleNotFoundError: No module named '([A-Za-z_]\w{0,99})(?:\.[\w.]*)?'(?!; )/,
    ([, name = ""]) =>
      `Add ${packages[name] ?? name} to the job's requirements, or to the dependencies of the script's metadata. If it is a module of your own, attach ${name}.py as a file, or use a repository.`,
  ],
  [
    /ImportError: \S{1,200}\.so[\w.]*: cannot open shared object file/,
    () =>
      "A system library is missing. Use a Python package that includes the library, or ask the server's operator to install it.",
  ],
  [
    fullDevice,
    () =>
      "The file system is full: either the server's disk, or a small file system such as /dev/shm. Write less data, or ask the server's operator to make room.",
  ],
  [
    /\[Errno 122\]|disk quota exceeded/i,
    () => "The file system quota is used up. Delete files, or ask the server's operator for more space.",
  ],
  [
    /\[Errno 27\]/,
    () =>
      "A file exceeded the size limit, which is the larger of the server settings MILLRACE_JOB_LOG and MILLRACE_JOB_DISK.",
  ],
  [
    /^MemoryError\b/,
    () =>
      "The script needed more memory than it could get. Process less data at a time, or ask the server's operator for more memory.",
  ],
  [endedBySignal, ([, worker, runner]) => describeExit(128 + Number(worker ?? runner)).replace("The script", "It")],
  [
    /process pool was terminated abruptly/,
    () => "A worker process of the pool was killed, usually by a signal. Running out of memory is the usual cause.",
  ],
  [
    /(?:exec: \.\/\S+: not found|failed to execute \.\/\S+: No such file or directory)$/,
    () =>
      "The program that the script's first line names is not on this machine, or that line ends with a carriage return.",
  ],
  [/Illegal option -o pipefail/, () => "That is an option of bash: begin the script with #!/bin/bash."],
];

/** Returns a hint for an error message; empty if there is none. */
export function hintFor(message: string): string {
  for (const [pattern, hint] of hints) {
    const match = pattern.exec(message.slice(0, 4096));
    if (match) return hint(match);
  }
  return "";
}
