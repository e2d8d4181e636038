/** The texts of the runner, one Python file that needs only Python, and of the script that packs virtualenvs for it. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

export const readRunner = (): Promise<string> => readFile(join(import.meta.dirname, "runner.py"), "utf8");
export const readPacker = (): Promise<string> => readFile(join(import.meta.dirname, "packs.py"), "utf8");
