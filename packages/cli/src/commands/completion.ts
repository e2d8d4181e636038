/**
 * `millrace completion SHELL`: prints a completion script built from the command table. The script itself never runs
 * millrace, so completion is fast.
 */
import { bashScript } from "../completion/bash.ts";
import { fishScript } from "../completion/fish.ts";
import { zshScript } from "../completion/zsh.ts";
import { usageError } from "../errors.ts";
import { closest } from "../parse.ts";
import type { Handler, HandlersOf } from "./handler.ts";

const scripts: Record<string, () => string> = { bash: bashScript, zsh: zshScript, fish: fishScript };

const completion: Handler<"completion"> = async ({ arguments: { SHELL: shell } }, output) => {
  const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
  if (!script) {
    const guess = closest(shell, Object.keys(scripts));
    throw usageError(`There is no completion for '${shell}'`, {
      why: guess ? `Did you mean ${guess}?` : "Expected bash, zsh or fish",
      next: "millrace completion --help",
    });
  }
  output.print(script().trimEnd());
  return 0;
};

export const handlers: HandlersOf<"completion"> = { completion };
