/** Reads a kubeconfig: where the API server is, how it proves itself, and how we prove ourselves to it. */

/** How to run a program that prints credentials, as a kubeconfig describes it. */
export interface ExecPlugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A client certificate and its key, as PEM. */
export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

export interface Kubeconfig {
  readonly server: string;
  readonly namespace: string;
  /** Certificates of the authorities that the API server's certificate must come from, as PEM; absent: the usual ones. */
  readonly ca: string | undefined;
  readonly serverName: string | undefined;
  readonly isVerified: boolean;
  readonly certificate: ClientCertificate | undefined;
  readonly token: string | undefined;
  /** File that holds the token, and that somebody renews. */
  readonly tokenFile: string | undefined;
  readonly exec: ExecPlugin | undefined;
}

class InvalidKubeconfig extends Error {}

type Entry = Readonly<Record<string, unknown>>;

/** The command that makes one, for error messages. */
const advice = "Make one with: kubectl config view --raw --minify --flatten -o json";

export function readKubeconfig(text: string, context: string): Kubeconfig {
  const config = parse(text);
  const name = context || stringIn(config, "current-context");
  if (name === undefined) throw new InvalidKubeconfig("The kubeconfig has no current context, and none is named.");
  const chosen = entryOf(config, "contexts", name, "context");
  const cluster = entryOf(config, "clusters", stringIn(chosen, "cluster") ?? "", "cluster");
  const user = entryOf(config, "users", stringIn(chosen, "user") ?? "", "user");
  refuseOthers(cluster, user);
  return {
    server: serverOf(cluster),
    namespace: stringIn(chosen, "namespace") ?? "default",
    ca: pemIn(cluster, "certificate-authority-data"),
    serverName: stringIn(cluster, "tls-server-name"),
    isVerified: cluster["insecure-skip-tls-verify"] !== true,
    certificate: certificateOf(user),
    token: stringIn(user, "token"),
    tokenFile: stringIn(user, "tokenFile"),
    exec: execOf(user),
  };
}

function parse(text: string): Entry {
  try {
    const config: unknown = JSON.parse(text);
    if (isEntry(config)) return config;
  } catch {
    // The message below says what is wanted; that of the parser would repeat a part of the secret.
  }
  throw new InvalidKubeconfig(`The kubeconfig is not JSON. ${advice}`);
}

/** Finds an entry of one of the kubeconfig's lists by its name. */
function entryOf(config: Entry, list: string, name: string, field: string): Entry {
  const entries = config[list];
  const found = Array.isArray(entries) ? entries.find((entry) => isEntry(entry) && entry["name"] === name) : undefined;
  const value: unknown = (found as Entry | undefined)?.[field];
  if (!isEntry(value)) throw new InvalidKubeconfig(`The kubeconfig has no ${field} "${name}".`);
  return value;
}

/** Refuses what would silently not work: files of another machine, and ways to sign in that are not supported. */
function refuseOthers(cluster: Entry, user: Entry): void {
  for (const name of ["certificate-authority", "client-certificate", "client-key"])
    if (cluster[name] !== undefined || user[name] !== undefined)
      throw new InvalidKubeconfig(`The kubeconfig names a file in ${name} and does not contain it. ${advice}`);
  for (const name of ["username", "password", "auth-provider", "as"])
    if (user[name] !== undefined) throw new InvalidKubeconfig(`The kubeconfig uses ${name}, which is not supported.`);
  if (cluster["proxy-url"] !== undefined)
    throw new InvalidKubeconfig("The kubeconfig uses proxy-url, which is not supported.");
}

function serverOf(cluster: Entry): string {
  const server = stringIn(cluster, "server");
  if (server === undefined || !URL.canParse(server) || !/^https?:/.test(server))
    throw new InvalidKubeconfig("The kubeconfig has no valid address of a server.");
  return server.replace(/\/+$/, "");
}

function certificateOf(user: Entry): ClientCertificate | undefined {
  const cert = pemIn(user, "client-certificate-data");
  const key = pemIn(user, "client-key-data");
  return cert !== undefined && key !== undefined ? { cert, key } : undefined;
}

function execOf(user: Entry): ExecPlugin | undefined {
  const exec = user["exec"];
  if (!isEntry(exec)) return undefined;
  const [command, apiVersion] = [stringIn(exec, "command"), stringIn(exec, "apiVersion")];
  if (command === undefined || apiVersion === undefined)
    throw new InvalidKubeconfig("The kubeconfig names no program in exec.");
  const env = listIn(exec, "env").map((pair) => [String(pair["name"]), String(pair["value"])]);
  const args = Array.isArray(exec["args"]) ? exec["args"].map(String) : [];
  return { apiVersion, command, args, env: Object.fromEntries(env) };
}

const isEntry = (value: unknown): value is Entry => typeof value === "object" && value !== null;

const listIn = (entry: Entry, name: string): Entry[] => {
  const list = entry[name];
  return Array.isArray(list) ? list.filter(isEntry) : [];
};

function stringIn(entry: Entry, name: string): string | undefined {
  const value = entry[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

const pemIn = (entry: Entry, name: string): string | undefined => {
  const data = stringIn(entry, name);
  return data === undefined ? undefined : Buffer.from(data, "base64").toString();
};
