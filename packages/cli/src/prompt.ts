/**
 * Prompts the user. Passwords are read from a terminal without echo, or from standard input. They are never read from
 * arguments, because every user of the machine can see the arguments of a process.
 */
import { CliError, exitCodes, usageError } from "./errors.ts";

/** Prompts for the current password and for a new one. */
export async function askPasswordChange(username: string): Promise<{ current: string; password: string }> {
  if (process.stdin.isTTY) {
    const current = await askHidden(`Current password of ${username}: `);
    return { current, password: await askNewPassword(username) };
  }
  const [current = "", password = ""] = await readLines();
  if (password === "")
    throw usageError("The new password is missing", {
      why: "Standard input must have the current password on its first line and the new password on its second line",
    });
  return { current, password };
}

/** Prompts for a new password. On a terminal, asks twice, because the input is not shown. */
export async function askNewPassword(username: string): Promise<string> {
  if (!process.stdin.isTTY) {
    const [password = ""] = await readLines();
    if (password === "")
      throw usageError("The password is missing", {
        why: "Standard input is not a terminal, and its first line is empty",
      });
    return password;
  }
  const password = await askHidden(`New password of ${username}: `);
  if ((await askHidden("Repeat the password: ")) === password) return password;
  throw new CliError("The two passwords differ", { next: "Run the command again" });
}

async function readLines(): Promise<string[]> {
  const { text } = await import("node:stream/consumers");
  return (await text(process.stdin)).split(/\r?\n/);
}

/** Reads a line in raw mode, so that the terminal does not show it. */
function askHidden(question: string): Promise<string> {
  const { stdin, stderr } = process;
  stderr.write(question);
  stdin.setRawMode(true);
  stdin.setEncoding("utf8");
  return new Promise((resolve, reject) => {
    let typed = "";
    const finish = (settle: () => void) => {
      stdin.off("data", listen);
      stdin.setRawMode(false);
      stdin.pause();
      stderr.write("\n");
      settle();
    };
    const listen = (keys: string) => {
      for (const [index, key] of [...keys].entries()) {
        if (key === "\r" || key === "\n") {
          // Text that was pasted after the newline belongs to the next prompt.
          const rest = [...keys].slice(index + 1).join("");
          if (rest) stdin.unshift(rest);
          return finish(() => resolve(typed));
        }
        if (key === "\u0003" || key === "\u0004")
          return finish(() => reject(new CliError("Nothing was changed", { exitCode: exitCodes.interrupted })));
        typed = key === "\u007f" || key === "\b" ? [...typed].slice(0, -1).join("") : typed + key;
      }
    };
    stdin.on("data", listen);
    stdin.resume();
  });
}

interface Asking {
  readonly signal?: AbortSignal;
  /** True if the command has a `--dry-run` flag. */
  readonly hasDryRun?: boolean;
}

/**
 * Asks for confirmation on a terminal; elsewhere, does nothing, so that scripts need no `--yes`. Call this before the
 * removal of something that can be created again.
 */
export async function askOnTerminal(statement: () => Promise<string>): Promise<void> {
  if (process.stdin.isTTY) await askToProceed(await statement());
}

/**
 * Shows what will be removed or changed, and asks for confirmation. Throws if the answer is not y or yes, or if there
 * is no terminal. Do not call this if `--yes` is given.
 */
export async function askToProceed(statement: string, { signal, hasDryRun = false }: Asking = {}): Promise<void> {
  if (!process.stdin.isTTY) {
    throw usageError(statement, {
      why: "The command needs a confirmation, but standard input is not a terminal; nothing was changed",
      next: hasDryRun ? "Add --yes, or preview with --dry-run" : "Add --yes",
    });
  }
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  // On a terminal, readline handles Ctrl-C itself, so the signal is raised again.
  lines.once("SIGINT", () => process.kill(process.pid, "SIGINT"));
  try {
    const answer = await lines.question(
      `${statement}${statement.includes("\n") ? "\n" : " "}Continue? [y/N] `,
      signal ? { signal } : {},
    );
    if (!/^y(es)?$/i.test(answer.trim())) throw new CliError("Nothing was changed");
  } finally {
    lines.close();
  }
}
