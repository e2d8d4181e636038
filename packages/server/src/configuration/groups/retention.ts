/** How long the server keeps what it no longer needs. */
import { integer } from "../parse.ts";
import { group, setting, type Values } from "../setting.ts";

export const retention = group("Retention", {
  logDays: setting({
    env: "MILLRACE_LOG_DAYS",
    fallback: "90",
    description:
      "days after the end of a job until its log and folder are removed, with its long texts that nothing else uses; 0 keeps them",
    parse: integer(0, 36_500),
  }),
  unusedFileDays: setting({
    env: "MILLRACE_UNUSED_FILE_DAYS",
    fallback: "7",
    description: "days until an uploaded file that no job uses is removed",
    parse: integer(1, 36_500),
  }),
  envDays: setting({
    env: "MILLRACE_ENV_DAYS",
    fallback: "30",
    description: "days without a job until a virtualenv is removed; 0 keeps them",
    parse: integer(0, 36_500),
  }),
  warehouseReplacedDays: setting({
    env: "MILLRACE_STORE_REPLACED_DAYS",
    fallback: "7",
    description:
      "days until a team's warehouse that `millrace team restore-datasets` replaced by a copy is removed; 0 keeps it",
    parse: integer(0, 3650),
  }),
  deliveryDays: setting({
    env: "MILLRACE_DELIVERY_DAYS",
    fallback: "30",
    description: "days until finished deliveries of webhooks and e-mails are removed",
    parse: integer(1, 3650),
  }),
  auditDays: setting({
    env: "MILLRACE_AUDIT_DAYS",
    fallback: "365",
    description: "days until entries of the audit log are removed; 0 keeps them",
    parse: integer(0, 36_500),
  }),
});

export type RetentionSettings = Values<typeof retention>;
