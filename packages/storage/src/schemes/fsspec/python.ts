/** Chooses the Python interpreter that runs fsspec, and tells how to install fsspec for it. */
import type { Environment } from "../../configuration/parameters.ts";

const variable = "MILLRACE_FSSPEC_PYTHON";
const usual = "python3";

export const pythonOf = (environment: Environment) => environment[variable] || usual;

export const howToInstall = (python: string) =>
  `Kinds of storage that are not built in need Python 3.8 or newer with fsspec: install fsspec with ` +
  `\`${python === usual ? usual : "python3"} -m pip install fsspec\`, or set ${variable} to the path of another Python`;
