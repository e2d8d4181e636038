/** Settings: which storages people can browse. */
import { networks } from "../parse.ts";
import { group, setting } from "../setting.ts";

export const storage = group("Storage browser", {
  networks: setting({
    env: "MILLRACE_STORAGE_NETWORKS",
    fallback: "",
    description:
      "private addresses and networks of object stores that the storage browser may reach, such as 10.1.0.0/16; empty allows public addresses only",
    parse: networks,
  }),
});
