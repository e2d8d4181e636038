/**
 * Settings: how the server maintains the warehouses of teams. The names of these variables contain STORE, the former
 * word for a warehouse.
 */
import { integer } from "../parse.ts";
import { group, setting, type Values } from "../setting.ts";

export const warehouses = group("Warehouses", {
  copies: setting({
    env: "MILLRACE_STORE_COPIES",
    fallback: "7",
    description: "number of daily copies kept of a team's warehouse; 0 disables copies",
    parse: integer(0, 365),
  }),
  tidyHours: setting({
    env: "MILLRACE_STORE_TIDY_HOURS",
    fallback: "24",
    description:
      "hours between garbage collections of a team's warehouse, which run while no job of the team runs; 0 disables them",
    parse: integer(0, 8760),
  }),
  pauseDays: setting({
    env: "MILLRACE_STORE_PAUSE_DAYS",
    fallback: "7",
    description:
      "if a team's jobs leave no idle moment for this many days, they are paused for garbage collection; 0 never pauses them",
    parse: integer(0, 365),
  }),
});

export type WarehouseSettings = Values<typeof warehouses>;
