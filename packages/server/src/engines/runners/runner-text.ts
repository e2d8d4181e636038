/** The text of the runner: one Python file that needs only Python. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

export const readRunner = (): Promise<string> => readFile(join(import.meta.dirname, "runner.py"), "utf8");
