/**
 * Creates random secrets such as tokens, and hashes them for the store. They have 256 bits, so a fast hash without salt
 * is safe.
 */
import { hash, randomBytes } from "node:crypto";

export const newSecret = (prefix = "") => prefix + randomBytes(32).toString("base64url");

export const hashSecret = (secret: string) => hash("sha256", secret);
