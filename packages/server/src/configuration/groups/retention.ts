/** Settings: how many days the server keeps data that it no longer needs. */
import { bytes, integer } from "../parse.ts";
import { group, setting, type Values } from "../setting.ts";

export const retention = group("Retention", {
  logDays: setting({
    env: "MILLRACE_LOG_DAYS",
    fallback: "90",
    description:
      "days after the end of a job until the server deletes its log, its folder and its long texts, except texts that other jobs use; 0 keeps them forever",
    parse: integer(0, 36_500),
  }),
  unusedFileDays: setting({
    env: "MILLRACE_UNUSED_FILE_DAYS",
    fallback: "7",
    description: "days until an uploaded file that no job uses is deleted",
    parse: integer(1, 36_500),
  }),
  envDays: setting({
    env: "MILLRACE_ENV_DAYS",
    fallback: "30",
    description: "days without use until a virtualenv, or the pack of one, is deleted; 0 keeps it forever",
    parse: integer(0, 36_500),
  }),
  packsSize: setting({
    env: "MILLRACE_PACKS_SIZE",
    fallback: "50GiB",
    description:
      "maximum size of all packed virtualenvs together ([more](clusters.md#packed-virtualenvs)); beyond that, those used longest ago are deleted",
    parse: bytes,
  }),
  warehouseReplacedDays: setting({
    env: "MILLRACE_STORE_REPLACED_DAYS",
    fallback: "7",
    description:
      "days until a warehouse that `millrace team restore-datasets` replaced with a copy is deleted; 0 keeps it forever",
    parse: integer(0, 3650),
  }),
  deliveryDays: setting({
    env: "MILLRACE_DELIVERY_DAYS",
    fallback: "30",
    description: "days until finished deliveries of webhooks and e-mails are deleted",
    parse: integer(1, 3650),
  }),
  auditDays: setting({
    env: "MILLRACE_AUDIT_DAYS",
    fallback: "365",
    description: "days until entries of the audit log are deleted; 0 keeps them forever",
    parse: integer(0, 36_500),
  }),
});

export type RetentionSettings = Values<typeof retention>;
