/** The key of a fictitious service account: it signs, and no store knows it. */
import { generateKeyPairSync } from "node:crypto";

export function makeServiceAccount() {
  const { privateKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  return { type: "service_account", client_email: "account@project.test", private_key: privateKey };
}
