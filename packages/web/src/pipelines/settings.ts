/** The settings of a pipeline as the texts of a form, and the changes that a form asks for. */
import type { Pipeline, UpdatePipelineSettingsInput } from "@millrace/contract";

export const textSettings = ["python_version", "requirements", "repository", "environment"] as const;
export const numberSettings = ["workers", "priority", "timeout", "retries", "retry_delay"] as const;

type Text = (typeof textSettings)[number] | (typeof numberSettings)[number];

export interface Settings extends Readonly<Record<Text, string>> {
  readonly credentials_names: readonly string[];
  readonly reuse_listings: boolean;
}

export function settingsOf(pipeline: Pipeline): Settings {
  const number = (value: number | null) => (value === null ? "" : String(value));
  return {
    python_version: pipeline.python_version ?? "",
    requirements: pipeline.requirements ?? "",
    repository: pipeline.repository ?? "",
    environment: dotenv(pipeline.environment_variables),
    workers: number(pipeline.workers),
    priority: number(pipeline.priority),
    timeout: number(pipeline.timeout),
    retries: number(pipeline.retries),
    retry_delay: number(pipeline.retry_delay),
    credentials_names: pipeline.credentials_names ?? [],
    reuse_listings: pipeline.reuse_listings ?? false,
  };
}

/** Variables as NAME=VALUE lines; a value with special characters is put in quotes that it does not contain. */
export const dotenv = (variables: Readonly<Record<string, string>>) =>
  Object.entries(variables)
    .map(([name, value]) => {
      if (/^[\w./:@,+-]*$/.test(value)) return `${name}=${value}`;
      const quote = ["'", "`", '"'].find((one) => !value.includes(one)) ?? "";
      return `${name}=${quote}${value}${quote}`;
    })
    .join("\n");

/** Only what differs; a number that was emptied is left as it was, because numbers cannot be removed. */
export function changesOf(before: Settings, after: Settings): UpdatePipelineSettingsInput {
  const changed = <K extends keyof Settings>(name: K) => String(before[name]) !== String(after[name]);
  const texts = textSettings.filter(changed).map((name) => [name, after[name]]);
  const numbers = numberSettings.filter((name) => changed(name) && after[name] !== "");
  return {
    ...Object.fromEntries(texts),
    ...Object.fromEntries(numbers.map((name) => [name, Number(after[name])])),
    ...(changed("credentials_names") ? { credentials_names: [...after.credentials_names] } : {}),
    ...(changed("reuse_listings") ? { reuse_listings: after.reuse_listings } : {}),
  };
}
