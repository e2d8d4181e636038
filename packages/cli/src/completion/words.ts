/** Provides the words that all shells offer, taken from the command table. */
import { type Command, commands, commonFlags, type Flag, groups } from "../arguments.ts";

export interface Offer {
  readonly word: string;
  readonly help: string;
}

export const groupNames = Object.keys(groups) as (keyof typeof groups)[];

export const topWords: readonly Offer[] = [
  ...groupNames.map((word) => ({ word, help: groups[word] })),
  ...Object.entries(commands)
    .filter(([path]) => !path.includes(" "))
    .map(([word, { summary }]) => ({ word, help: summary })),
  { word: "help", help: "Show help" },
];

/** Returns the commands of a group, by their second word. */
export const verbs = (group: string): Offer[] =>
  Object.entries(commands)
    .filter(([path]) => path.startsWith(`${group} `))
    .map(([path, { summary }]) => ({ word: path.slice(group.length + 1), help: summary }));

export const allCommands = Object.entries(commands) as [string, Command][];

export const flagsOf = (command: Command): [string, Flag][] => Object.entries({ ...command.flags, ...commonFlags });

/** Returns the forms of a flag as typed, such as `-n` and `--name`. */
export const spellings = (name: string, flag: Flag) => [...(flag.short ? [`-${flag.short}`] : []), `--${name}`];
