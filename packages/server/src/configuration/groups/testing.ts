/** Settings that only tests use. */
import { text } from "../parse.ts";
import { group, setting } from "../setting.ts";

export const testing = group("For tests", {
  bootId: setting({
    env: "MILLRACE_BOOT_ID",
    fallback: "",
    description: "boot id that the server uses instead of the machine's",
    parse: text,
  }),
  fault: setting({
    env: "MILLRACE_FAULT",
    fallback: "",
    description:
      "point at which the server kills itself or waits, such as attempt-committed:3; faults.ts lists the points",
    parse: text,
  }),
});
