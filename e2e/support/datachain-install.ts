/** The released `datachain` client. */
import { programIn, whyNoVirtualenv } from "./virtualenv.ts";

const version = "0.62.0";
const virtualenv = { name: `datachain-${version}`, requirement: `datachain[remote]==${version}` };

export const datachain = programIn(virtualenv, "datachain");
/** The interpreter that has the library. */
export const datachainPython = programIn(virtualenv, "python");
export const whyNoDatachain = () => whyNoVirtualenv(virtualenv);
