/** How the server looks after the teams' warehouses. The variables keep the name that a warehouse had first. */
import { integer } from "../parse.ts";
import { group, setting, type Values } from "../setting.ts";

export const warehouses = group("Warehouses", {
  copies: setting({
    env: "MILLRACE_STORE_COPIES",
    fallback: "7",
    description: "daily copies kept of a team's warehouse; 0 makes none",
    parse: integer(0, 365),
  }),
  tidyHours: setting({
    env: "MILLRACE_STORE_TIDY_HOURS",
    fallback: "24",
    description:
      "hours between garbage collections in a team's warehouse, which run while none of its jobs do; 0 turns them off",
    parse: integer(0, 8760),
  }),
  pauseDays: setting({
    env: "MILLRACE_STORE_PAUSE_DAYS",
    fallback: "7",
    description:
      "after this many days without an idle moment, pause the team's jobs for garbage collection; 0 never pauses them",
    parse: integer(0, 365),
  }),
});

export type WarehouseSettings = Values<typeof warehouses>;
