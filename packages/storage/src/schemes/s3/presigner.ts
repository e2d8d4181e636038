/**
 * Presigns URLs with AWS's own signer, which is loaded at the first use. The signer is installed with the credential
 * providers, so no extra package is needed.
 */
import { createHash, createHmac, type Hash, type Hmac } from "node:crypto";
import { SignatureV4 } from "@smithy/signature-v4";
import type { CredentialSource } from "./credentials.ts";

/** The hash interface that the signer expects, on top of Node's. */
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
    // Keys are already encoded, and the header already holds the hash of the body.
    uriEscapePath: false,
    applyChecksum: false,
  });
}
