/** Runs the example receivers in docs/notifications.md unchanged. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repository } from "../repository.ts";
import { closedAtEnd } from "./left-open.ts";

const programs = {
  python: { file: "receiver.py", command: ["python3"] },
  typescript: { file: "receiver.mts", command: [process.execPath, "--disable-warning=ExperimentalWarning"] },
} as const;

export type RecipeLanguage = keyof typeof programs;

/** Returns false if the receiver can run here, otherwise the reason why not. */
export function whyNoRecipe(language: RecipeLanguage): string | false {
  try {
    execFileSync(programs[language].command[0], ["--version"], { stdio: "ignore" });
    return false;
  } catch {
    return `needs ${programs[language].command[0]}`;
  }
}

export class Recipe {
  readonly url: string;
  /** What the receiver printed: the ids and bodies of deliveries with a valid signature. */
  said = "";
  readonly stop: () => Promise<void>;

  /** Starts a receiver. It may not listen yet when this returns, so callers must retry their first request. */
  static async start(language: RecipeLanguage, secret: string): Promise<Recipe> {
    const page = await readFile(join(repository, "docs/notifications.md"), "utf8");
    const [, program] = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "m").exec(page) ?? [];
    if (!program) throw new Error(`docs/notifications.md has no example receiver in ${language}`);
    const folder = await mkdtemp(join(tmpdir(), "millrace-recipes-"));
    const path = join(folder, programs[language].file);
    await writeFile(path, program);
    return new Recipe([...programs[language].command, path], { folder, secret, port: await freePort() });
  }

  private constructor(
    [command = "", ...words]: readonly string[],
    { folder, secret, port }: { folder: string; secret: string; port: number },
  ) {
    this.url = `http://127.0.0.1:${port}/`;
    const child = spawn(command, [...words, String(port)], {
      env: { PATH: process.env["PATH"], WEBHOOK_SECRET: secret },
      stdio: ["ignore", "pipe", "ignore"],
    });
    child.stdout.on("data", (bytes: Buffer) => {
      this.said += bytes.toString();
    });
    const gone = once(child, "exit");
    this.stop = closedAtEnd(async () => {
      child.kill("SIGKILL");
      await gone;
      await rm(folder, { recursive: true });
    });
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}
