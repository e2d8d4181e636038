/**
 * Thrown by a program in the child process if the warehouse is at fault, not the program. The message is shown to the
 * team.
 */
export class Unusable extends Error {}

const next = "An admin of the team can replace the warehouse with its newest daily copy.";

export const unusable = (why: string) => new Unusable(`The team's warehouse cannot be used: ${why}. ${next}`);
