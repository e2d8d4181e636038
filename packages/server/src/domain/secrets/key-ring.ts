/**
 * Encryption at rest: AES-256-GCM with a ring of keys. The first key encrypts and all keys decrypt. Every value names
 * its key, so that keys can be rotated while a server runs. Every value is bound to its purpose (its table, column and
 * row) by authentication, so a value that is copied to another row cannot be decrypted.
 */
import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from "node:crypto";

/** Provides the keys: from a setting, or from a file that may change while the server runs. */
export interface KeySource {
  /** Returns all keys that can decrypt; never empty. */
  all(): readonly SecretKey[];
  /** Returns the key that encrypts. Throws if it is not certain that this key is still the newest. */
  first(): SecretKey;
}

export interface SecretKey {
  /** Identifier that is stored with every value; it does not reveal the key. */
  readonly id: string;
  readonly bytes: Buffer;
}

/** Returns a key with its id, which is a hash of its bytes. */
export const secretKeyOf = (bytes: Buffer): SecretKey => ({
  id: hash("sha256", Buffer.concat([Buffer.from("millrace key id "), bytes])).slice(0, 12),
  bytes,
});

/**
 * Form of an encrypted value. It has no `=` and no line break, so it cannot be confused with plain-text NAME=VALUE
 * lines.
 */
const form = /^enc1\.([0-9a-f]{12})\.([\w-]+)$/;
const nonceLength = 12;
const tagLength = 16;

/**
 * Returns the id of the key that a value is encrypted with; undefined if the value is not encrypted. `value` may be cut
 * to its first 18 characters.
 */
export const keyIdOf = (value: string): string | undefined => /^enc1\.([0-9a-f]{12})\./.exec(value)?.[1];

export class KeyRing {
  readonly #source: KeySource;
  readonly #derived = new Map<string, Buffer>();

  constructor(source: KeySource) {
    this.#source = source;
  }

  get currentId(): string {
    return this.#source.first().id;
  }

  has(keyId: string): boolean {
    return this.#source.all().some(({ id }) => id === keyId);
  }

  /** Encrypts a text. Call it through the functions of encryption.ts, which hold the lock against key rotation. */
  encrypt(text: string, purpose: string): string {
    const key = this.#source.first();
    const nonce = randomBytes(nonceLength);
    const cipher = createCipheriv("aes-256-gcm", key.bytes, nonce).setAAD(Buffer.from(purpose));
    const sealed = Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return `enc1.${key.id}.${sealed.toString("base64url")}`;
  }

  /** Decrypts a value. Throws if the key is missing, or the value was modified or encrypted for another purpose. */
  decrypt(value: string, purpose: string): string {
    const [, keyId, body] = form.exec(value) ?? [];
    if (!keyId || !body) throw new Error(`The stored value (${purpose}) is not in the form of an encrypted value.`);
    const key = this.#source.all().find(({ id }) => id === keyId);
    if (!key)
      throw new Error(
        `The stored value (${purpose}) is encrypted with the key ${keyId}, which this server does not have.`,
      );
    const sealed = Buffer.from(body, "base64url");
    try {
      if (sealed.toString("base64url") !== body) throw new Error("the base64 text is not in its canonical form");
      const decipher = createDecipheriv("aes-256-gcm", key.bytes, sealed.subarray(0, nonceLength), {
        authTagLength: tagLength,
      });
      decipher.setAAD(Buffer.from(purpose)).setAuthTag(sealed.subarray(-tagLength));
      return decipher.update(sealed.subarray(nonceLength, -tagLength), undefined, "utf8") + decipher.final("utf8");
    } catch {
      throw new Error(
        `The stored value (${purpose}) cannot be decrypted: it was modified, or copied from another row.`,
      );
    }
  }

  /**
   * Derives one key from each key of the ring, for uses other than encryption. The result is in the order of the ring.
   */
  derive(label: string): Buffer[] {
    return this.#source.all().map((key) => this.#deriveOne(key, label));
  }

  #deriveOne({ id, bytes }: SecretKey, label: string): Buffer {
    const name = `${id} ${label}`;
    const known = this.#derived.get(name);
    if (known) return known;
    const derived = Buffer.from(hkdfSync("sha256", bytes, "", `millrace ${label}`, 32));
    this.#derived.set(name, derived);
    return derived;
  }
}
