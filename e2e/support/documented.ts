/** The commands in the documentation, and a terminal that runs them one after the other. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { repository } from "@millrace/testing/repository.ts";

export interface DocumentedCommand {
  readonly page: string;
  /** The command as it is written, with the lines of a here-document. */
  readonly text: string;
  /** The command without the comment at its end. */
  readonly name: string;
}

interface Fence {
  readonly page: string;
  readonly language: string;
  readonly lines: readonly string[];
}

export async function readFences(): Promise<Fence[]> {
  const pages = ["README.md", ...(await readdir(join(repository, "docs"))).sort().map((name) => `docs/${name}`)];
  const texts = await Promise.all(pages.map((page) => readFile(join(repository, page), "utf8")));
  return texts.flatMap((text, index) =>
    [...text.matchAll(/^```(\S*)\n([\s\S]*?)^```/gm)].map(([, language = "", body = ""]) => ({
      page: pages[index] ?? "",
      language,
      lines: body.trimEnd().split("\n"),
    })),
  );
}

/** In `console` a command follows `$ `, the rest is output; in `sh` every line is a command, except comments. */
export function commandsOf({ page, language, lines }: Fence): DocumentedCommand[] {
  const found: string[] = [];
  let end: string | undefined;
  for (const line of lines) {
    if (end !== undefined) {
      found.push(`${found.pop()}\n${line}`);
      if (line === end) end = undefined;
      continue;
    }
    const command = language === "console" ? /^\$ (.*)/.exec(line)?.[1] : /^(?!#|$)/.test(line) ? line : undefined;
    if (command === undefined) continue;
    found.push(command);
    end = /<<'?(\w+)'?/.exec(command)?.[1];
  }
  return found.map((text) => ({ page, text, name: (text.split("\n")[0] ?? "").replace(/\s{2,}# .*$/, "") }));
}

export interface Ended {
  readonly code: number;
  readonly output: string;
}

const mark = "=== ended with";

/** A shell that keeps its variables between commands, as a person's does. */
export class Terminal {
  readonly #shell: ChildProcess;
  output = "";

  constructor(cwd: string, env: NodeJS.ProcessEnv) {
    this.#shell = spawn("bash", ["--noprofile", "--norc"], { cwd, env, stdio: "pipe", detached: true });
    for (const stream of [this.#shell.stdout, this.#shell.stderr])
      stream?.on("data", (bytes: Buffer) => {
        this.output += bytes.toString();
      });
  }

  get #isOver(): boolean {
    return this.#shell.exitCode !== null || this.#shell.signalCode !== null;
  }

  /** `meanwhile` gets the output so far, until the command has ended. */
  async run(text: string, meanwhile: (output: string) => Promise<void> = async () => {}): Promise<Ended> {
    const begin = this.output.length;
    this.#shell.stdin?.write(`{\n${text}\n} </dev/null\nprintf '\\n%s %s\\n' '${mark}' $?\n`);
    for (;;) {
      const output = this.output.slice(begin);
      const code = new RegExp(`^${mark} (\\d+)$`, "m").exec(output)?.[1];
      if (code !== undefined) return { code: Number(code), output };
      if (this.#isOver) throw new Error(`the shell ended:\n${output}`);
      await meanwhile(output);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Ends the shell with everything that it runs. */
  async close(): Promise<void> {
    if (this.#isOver || this.#shell.pid === undefined) return;
    const ended = once(this.#shell, "exit");
    process.kill(-this.#shell.pid, "SIGTERM");
    await ended;
  }
}
