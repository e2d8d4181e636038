/** Secrets that we give out: random, and kept only as hashes. They have 256 bits, so a plain hash is enough. */
import { hash, randomBytes } from "node:crypto";

export const newSecret = (prefix = "") => prefix + randomBytes(32).toString("base64url");

export const hashSecret = (secret: string) => hash("sha256", secret);
