/** Reads certificates to trust, and explains certificate errors: what is wrong and what to do. */
import { readFileSync } from "node:fs";
import { StorageError } from "../errors.ts";

/** Reads a file of certificates. If that fails, the error names the parameter that gave the file. */
export function readCertificates(file: string, scheme: string, parameter: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new StorageError("config", `${parameter}: ${(cause as Error).message}`, { scheme, cause });
  }
}

/** A client certificate and its key. */
export interface Identity {
  readonly cert: string;
  readonly key: string;
}

/** Reads a client certificate and its key, from one file with both or from two files. */
export function readIdentity(
  given: string | readonly unknown[] | null,
  scheme: string,
  parameter: string,
): Identity | undefined {
  if (given === null) return undefined;
  const files = typeof given === "string" ? [given, given] : given;
  const [cert, key] = files;
  if (typeof cert !== "string" || typeof key !== "string" || files.length !== 2) {
    throw new StorageError(
      "config",
      `${parameter}: expected the path of one file that contains certificate and key, or a list of two paths: certificate, key`,
      {
        scheme,
      },
    );
  }
  return { cert: readCertificates(cert, scheme, parameter), key: readCertificates(key, scheme, parameter) };
}

interface Problem {
  readonly reason: string;
  /** Returns the advice. `trust` is the parameter or variable that names the file of certificates to trust. */
  readonly advice: (trust: string) => string;
}

const unknownAuthority: Problem = {
  reason: "this machine does not know the authority that signed it",
  advice: (trust) => `set ${trust} to a file with the certificates to trust`,
};
const outOfTime: Problem = {
  reason: "it has expired, or is not valid yet",
  advice: () => "renew it, or correct the clock of this machine",
};

const problems: Readonly<Record<string, Problem>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  CERT_HAS_EXPIRED: outOfTime,
  CERT_NOT_YET_VALID: outOfTime,
  ERR_TLS_CERT_ALTNAME_INVALID: {
    reason: "it was issued for another host",
    advice: () => "check the address",
  },
};

/**
 * Returns the message for a certificate error: what is wrong and what to do. Returns undefined for other errors.
 * `parameter` is the name of the parameter that sets which certificates are trusted. Its value is a file with
 * certificates, or false to trust any certificate.
 */
export function describeCertificateError(code: string, host: string, parameter?: string): string | undefined {
  const problem = problems[code];
  if (!problem) return undefined;
  const advice = problem.advice(parameter ?? "the variable NODE_EXTRA_CA_CERTS");
  const carelessly = parameter === undefined ? "" : `, or set ${parameter} to false, which trusts any certificate`;
  return `the certificate of ${host} is not trusted: ${problem.reason}; ${advice}${carelessly}`;
}
