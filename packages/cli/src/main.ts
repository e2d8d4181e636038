/** The entry point: finds the command, loads only the modules that this command needs, and sets the exit code. */
import { readFileSync } from "node:fs";
import type { CommandPath } from "./arguments.ts";
import type { HandlersOf } from "./commands/handler.ts";
import { CliError, exitCodes } from "./errors.ts";
import { Output } from "./output.ts";
import { type Invocation, parseCommandLine } from "./parse.ts";

/** Loads the module of each command. A command loads only its own module, so that it starts quickly. */
const modules = {
  serve: () => import("./commands/serve.ts"),
  auth: () => import("./commands/auth.ts"),
  admin: () => import("./commands/admin.ts"),
  user: () => import("./commands/user.ts"),
  team: () => import("./commands/team.ts"),
  token: () => import("./commands/token.ts"),
  audit: () => import("./commands/audit.ts"),
  job: () => import("./commands/job.ts"),
  task: () => import("./commands/task.ts"),
  upcoming: () => import("./commands/upcoming.ts"),
  dataset: () => import("./commands/dataset.ts"),
  pipeline: () => import("./commands/pipeline.ts"),
  schedule: () => import("./commands/schedule.ts"),
  backfill: () => import("./commands/backfill.ts"),
  webhook: () => import("./commands/webhook.ts"),
  notify: () => import("./commands/notify.ts"),
  cluster: () => import("./commands/cluster.ts"),
  credentials: () => import("./commands/credentials.ts"),
  storage: () => import("./commands/storage.ts"),
  backup: () => import("./commands/backup.ts"),
  restore: () => import("./commands/restore.ts"),
  doctor: () => import("./commands/doctor.ts"),
  completion: () => import("./commands/completion.ts"),
};

async function main(words: readonly string[], output: Output): Promise<number> {
  try {
    return await run(parseCommandLine(words), output);
  } catch (error) {
    if (error instanceof CliError) return output.failure(error);
    const { explainApiError } = await import("./connection.ts");
    return output.failure(explainApiError(error) ?? error);
  }
}

async function run(invocation: Invocation, output: Output): Promise<number> {
  if (invocation.kind === "version") output.print(version());
  if (invocation.kind === "help") {
    const { helpText } = await import("./help.ts");
    const text = helpText(invocation.topic).trimEnd();
    if (!invocation.asked) output.note(text);
    else output.print(text);
    return invocation.asked ? 0 : exitCodes.usage;
  }
  if (invocation.kind !== "run") return 0;
  output.configure(invocation.input.flags);
  const noun = invocation.path.split(" ")[0] as keyof typeof modules;
  // The input has the type that the handler of this path takes; TypeScript cannot infer that.
  const handlers = (await modules[noun]()).handlers as HandlersOf<CommandPath>;
  return handlers[invocation.path](invocation.input as never, output);
}

function version(): string {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/**
 * Exits without a message on EPIPE. A reader that closes the pipe early, as in `millrace job logs ID | head`, is not an
 * error.
 */
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(exitCodes.brokenPipe);
});

/** Ignores errors in writing to standard error, for example to a closed terminal. Cleanup must still run. */
process.stderr.on("error", () => {});

process.exitCode = await main(process.argv.slice(2), new Output());
// After a signal, exit without waiting for a reader that has stalled.
if (process.exitCode > exitCodes.signal && process.stdout.writableNeedDrain) process.exit();
