/** What only tests set. */
import { text } from "../parse.ts";
import { group, setting } from "../setting.ts";

export const testing = group("For tests", {
  bootId: setting({
    env: "MILLRACE_BOOT_ID",
    fallback: "",
    description: "pretends that the machine was booted with this id",
    parse: text,
  }),
  fault: setting({
    env: "MILLRACE_FAULT",
    fallback: "",
    description: "where the server kills itself or waits, such as attempt-committed:3; the points are in faults.ts",
    parse: text,
  }),
});
