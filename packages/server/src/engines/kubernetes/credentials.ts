/** What we present to the API server: a token that may be renewed while the server runs, a certificate, or both. */
import { type ExecFileException, execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { promisify } from "node:util";
import type { ClientCertificate, ExecPlugin, Kubeconfig } from "./kubeconfig.ts";

export interface Credential {
  readonly token: string | undefined;
  readonly certificate: ClientCertificate | undefined;
}

export interface Credentials {
  get(): Promise<Credential>;
  /** Called when the API server did not accept the credential: the next one must be a new one, if there is one. */
  renew(): void;
}

export function credentialsOf({ certificate, token, tokenFile, exec }: Kubeconfig): Credentials {
  if (exec) return new ExecCredentials(exec);
  return {
    // The file is read for each request: the cluster replaces the token in it from time to time.
    get: async () => ({ certificate, token: tokenFile ? (await readFile(tokenFile, "utf8")).trim() : token }),
    renew() {},
  };
}

/** Milliseconds that a plug-in may take. */
const patienceMs = 60_000;

/** A credential is renewed this many milliseconds before it expires. */
const marginMs = 60_000;

/** A program gets no other variables of the server, which may hold secrets. A kubeconfig can name more. */
const usualVariables = () => ({ PATH: "/usr/local/bin:/usr/bin:/bin", HOME: homedir(), LANG: "C.UTF-8" });

/** A credential, and until when it can be used, in milliseconds since the Unix epoch. */
interface Printed extends Credential {
  readonly until: number;
}

/** Credentials that a program prints, for as long as it says that they are valid. */
class ExecCredentials implements Credentials {
  readonly #plugin: ExecPlugin;
  #printed: Promise<Printed> | undefined;

  constructor(plugin: ExecPlugin) {
    this.#plugin = plugin;
  }

  async get(): Promise<Credential> {
    const latest = this.#printed;
    const known = await latest;
    if (known && Date.now() < known.until) return known;
    // Requests at the same time share one run of the program.
    if (this.#printed === latest) this.#printed = undefined;
    this.#printed ??= this.#run().catch((error) => {
      this.#printed = undefined;
      throw error;
    });
    return this.#printed;
  }

  renew(): void {
    this.#printed = undefined;
  }

  async #run(): Promise<Printed> {
    const { command, args, env, apiVersion } = this.#plugin;
    const info = { kind: "ExecCredential", apiVersion, spec: { interactive: false } };
    const { stdout } = await promisify(execFile)(command, args, {
      env: { ...usualVariables(), ...env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
      timeout: patienceMs,
    }).catch((error: ExecFileException) => {
      // The message and the error of execFile hold the arguments and the program's output, which may be secrets.
      throw new Error(`the program ${command} of the kubeconfig failed: ${howFailed(error)}`);
    });
    return credentialIn(stdout, command);
  }
}

function howFailed({ code, signal, killed }: ExecFileException): string {
  if (killed) return `no answer within ${patienceMs / 1000} seconds`;
  if (typeof code === "number") return `exit code ${code}. Run it as the user of the server to see why`;
  return signal ? `signal ${signal}` : String(code ?? "it could not be started");
}

interface ExecCredential {
  readonly status?: {
    readonly token?: string;
    readonly clientCertificateData?: string;
    readonly clientKeyData?: string;
    readonly expirationTimestamp?: string;
  };
}

function credentialIn(printed: string, command: string): Printed {
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = statusIn(printed);
  const certificate = cert !== undefined && key !== undefined ? { cert, key } : undefined;
  if (token === undefined && certificate === undefined)
    throw new Error(`the program ${command} of the kubeconfig printed no credential`);
  const until = expirationTimestamp ? Date.parse(expirationTimestamp) - marginMs : Number.POSITIVE_INFINITY;
  return { token, certificate, until };
}

/** What cannot be read counts as empty: the error would repeat a secret. */
function statusIn(printed: string): NonNullable<ExecCredential["status"]> {
  try {
    return (JSON.parse(printed) as ExecCredential).status ?? {};
  } catch {
    return {};
  }
}
