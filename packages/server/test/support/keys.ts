/** Keys for tests without a server. */
import { randomBytes } from "node:crypto";
import { KeyRing, type SecretKey, secretKeyOf } from "../../src/domain/secrets/key-ring.ts";

export const randomKey = () => secretKeyOf(randomBytes(32));

export const keyRing = (...keys: SecretKey[]) => {
  const all = keys.length > 0 ? keys : [randomKey()];
  return new KeyRing({ all: () => all, first: () => all[0] as SecretKey });
};
