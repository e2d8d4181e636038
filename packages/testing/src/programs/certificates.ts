/** Creates self-signed certificates for tests, with openssl. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { whyNotInstalled } from "./program.ts";

const run = promisify(execFile);

export const whyNoCertificates = () => whyNotInstalled("openssl", "version");

export interface Certificate {
  readonly key: string;
  readonly cert: string;
  readonly keyFile: string;
  readonly certFile: string;
}

/** Creates a certificate for this machine, as files in the folder. */
export async function makeCertificate(folder: string, name: string): Promise<Certificate> {
  const [keyFile, certFile] = [join(folder, `${name}.key.pem`), join(folder, `${name}.cert.pem`)];
  const names = ["-subj", `/CN=${name}`, "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  const files = ["-keyout", keyFile, "-out", certFile];
  await run("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", ...files, ...names]);
  return { keyFile, certFile, key: await readFile(keyFile, "utf8"), cert: await readFile(certFile, "utf8") };
}
