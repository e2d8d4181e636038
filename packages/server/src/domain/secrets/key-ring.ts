/**
 * Encryption at rest: AES-256-GCM under a ring of keys. The first key encrypts, all of them decrypt, and every value
 * names its key, so that keys can be exchanged while a server runs. What a value is for is authenticated with it: moved
 * to another row it cannot be read.
 */
import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from "node:crypto";

/** Where the keys come from: a setting, or a file that may change under a running server. */
export interface KeySource {
  /** For decrypting; never empty. */
  all(): readonly SecretKey[];
  /** For encrypting. Throws where it is not certain that this key is still in use. */
  first(): SecretKey;
}

export interface SecretKey {
  /** Stored with every value; says nothing about the key. */
  readonly id: string;
  readonly bytes: Buffer;
}

export const secretKeyOf = (bytes: Buffer): SecretKey => ({
  id: hash("sha256", Buffer.concat([Buffer.from("millrace key id "), bytes])).slice(0, 12),
  bytes,
});

/** No `=` and no line end: such a text can never be taken for NAME=VALUE lines, nor those for it. */
const form = /^enc1\.([0-9a-f]{12})\.([\w-]+)$/;
const nonceLength = 12;
const tagLength = 16;

/** The key that a value names; undefined: it is not encrypted. Its first characters are enough. */
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

  /** Call it by way of `encryptValue`, inside the write that stores the value. */
  encrypt(text: string, purpose: string): string {
    const key = this.#source.first();
    const nonce = randomBytes(nonceLength);
    const cipher = createCipheriv("aes-256-gcm", key.bytes, nonce).setAAD(Buffer.from(purpose));
    const sealed = Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return `enc1.${key.id}.${sealed.toString("base64url")}`;
  }

  decrypt(value: string, purpose: string): string {
    const [, keyId, body] = form.exec(value) ?? [];
    if (!keyId || !body) throw new Error(`The ${purpose} is not in the form of an encrypted value.`);
    const key = this.#source.all().find(({ id }) => id === keyId);
    if (!key) throw new Error(`The ${purpose} is encrypted with the key ${keyId}, which this server does not have.`);
    const sealed = Buffer.from(body, "base64url");
    try {
      if (sealed.toString("base64url") !== body) throw new Error("another spelling of the same bytes");
      const decipher = createDecipheriv("aes-256-gcm", key.bytes, sealed.subarray(0, nonceLength), {
        authTagLength: tagLength,
      });
      decipher.setAAD(Buffer.from(purpose)).setAuthTag(sealed.subarray(-tagLength));
      return decipher.update(sealed.subarray(nonceLength, -tagLength), undefined, "utf8") + decipher.final("utf8");
    } catch {
      throw new Error(`The ${purpose} cannot be decrypted: it was changed, or belongs elsewhere.`);
    }
  }

  /** A key for something else than encrypting, one from each key of the ring, the first one first. */
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
