/** Formats parameters for people and programs. */
import type { ExplainedParameter } from "@millrace/storage";
import type { Column } from "../output.ts";

const valueText = (value: unknown) => (value === null ? "" : typeof value === "string" ? value : JSON.stringify(value));

export const parameterColumns: Column<ExplainedParameter>[] = [
  { title: "PARAMETER", full: ({ key }) => key },
  { title: "VALUE", full: ({ value }) => valueText(value) },
  { title: "SOURCE", full: ({ source }) => source },
  { title: "EFFECT", full: ({ effect }) => effect, style: ({ effect }) => (effect === "no-op" ? "dim" : "plain") },
  { title: "MEANING", full: ({ help, reason }) => (reason ? `${help} (${reason})` : help), shrinks: true },
];
