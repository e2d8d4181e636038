/** The released `datachain` client. */
import { programIn, whyNoVirtualenv } from "./virtualenv.ts";

const version = "0.62.0";
const virtualenv = { name: `datachain-${version}`, requirement: `datachain[remote]==${version}` };

export const datachain = programIn(virtualenv, "datachain");
export const whyNoDatachain = () => whyNoVirtualenv(virtualenv);
