/** Signs URLs: the vendor's own signer, which the resolver of credentials brings along anyway, loaded when one is wanted. */
import { createHash, createHmac, type Hash, type Hmac } from "node:crypto";
import { SignatureV4 } from "@smithy/signature-v4";
import type { CredentialSource } from "./credentials.ts";

/** The hash that the signer asks for, on Node's own. */
class Sha256 {
  readonly #hash: Hash | Hmac;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    if (secret === undefined) this.#hash = createHash("sha256");
    else this.#hash = createHmac("sha256", secret as string | Uint8Array);
  }

  update(data: string | Uint8Array): void {
    this.#hash.update(data);
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {
    throw new Error("the signer makes a new hash each time");
  }
}

export function createPresigner(source: CredentialSource, region: string): SignatureV4 {
  return new SignatureV4({
    credentials: () => source.get(),
    region,
    service: "s3",
    sha256: Sha256,
    // Keys are encoded once; the hash of the body stands in its header already.
    uriEscapePath: false,
    applyChecksum: false,
  });
}
