/** A script that does nothing but say so. It needs nothing of a machine but a shell. */
import type { QueryType } from "@millrace/contract";

const said = "Millrace can run jobs here.";
const queryType: QueryType = "SHELL";

export const trialScript = { said, queryType, name: "test.sh", query: `echo "${said}"` } as const;
