/** Settings: the keys that encrypt secrets in the database. */
import { optionalPath, secretKey } from "../parse.ts";
import { group, setting, type Values } from "../setting.ts";

export const keys = group("Encryption keys", {
  secretKey: setting({
    env: "MILLRACE_SECRET_KEY",
    fallback: "",
    description:
      "key that encrypts secrets in the database: 32 bytes as base64 or hex; older keys, used only to decrypt, follow after commas",
    secret: true,
    parse: (given) => given.split(",").filter(Boolean).map(secretKey),
  }),
  secretKeyFile: setting({
    env: "MILLRACE_SECRET_KEY_FILE",
    fallback: "",
    description:
      "file with these keys, one per line, used when MILLRACE_SECRET_KEY is not set; empty means secret.key in the data folder",
    parse: optionalPath,
  }),
});

export type KeySettings = Values<typeof keys>;
