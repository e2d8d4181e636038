/**
 * Presigns URLs with AWS's own signer, which is loaded at the first use. The signer is installed with the credential
 * providers, so no extra package is needed.
 */
import { createHash, createHmac, type Hash, type Hmac } from "node:crypto";
import { SignatureV4 } from "@smithy/signature-v4";
import type { CredentialSource } from "./credentials.ts";

/** Adapts the hashes of Node to the interface that the signer expects. */
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
    throw new Error("Sha256.reset is not supported: SignatureV4 was expected to create a new hash for each digest");
  }
}

export function createPresigner(source: CredentialSource, region: string): SignatureV4 {
  return new SignatureV4({
    credentials: () => source.get(),
    region,
    service: "s3",
    sha256: Sha256,
    // The path is already encoded, and a header already contains the hash of the body.
    uriEscapePath: false,
    applyChecksum: false,
  });
}
