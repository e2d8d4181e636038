/** The released `datachain` client. */
import { dirname } from "node:path";
import { programIn, whyNoVirtualenv } from "./virtualenv.ts";

const version = "0.62.0";
const virtualenv = { name: `datachain-${version}`, requirement: `datachain[remote]==${version}` };

export const datachain = programIn(virtualenv, "datachain");
export const whyNoDatachain = () => whyNoVirtualenv(virtualenv);

/** Settings of a server whose jobs find an interpreter that has the library: no environment is built for them. */
export const withLibrary = { PATH: `${dirname(datachain)}:${process.env["PATH"]}` };
