/** Settings: the log of the server. */
import { choice } from "../parse.ts";
import { group, setting } from "../setting.ts";

export const logging = group("Log of the server", {
  level: setting({
    env: "MILLRACE_LOG_LEVEL",
    fallback: "info",
    description: "lowest level that is logged: trace, debug, info, warn, error or silent; JSON lines on standard error",
    parse: choice("trace", "debug", "info", "warn", "error", "silent"),
  }),
});
