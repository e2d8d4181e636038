/** The type of a command's handler, which takes the parsed input, writes output, and returns an exit code. */
import type { CommandPath, Input } from "../arguments.ts";
import type { Output } from "../output.ts";

export type Handler<P extends CommandPath> = (input: Input<P>, output: Output) => Promise<number>;

/** The handlers of all commands with the same first word: `HandlersOf<"job">` has one for each `job ...` command. */
export type HandlersOf<Noun extends string> = {
  readonly [P in CommandPath as P extends Noun | `${Noun} ${string}` ? P : never]: Handler<P>;
};
