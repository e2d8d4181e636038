/** Error of a program in the child process when the warehouse is at fault. Its message is shown to the team. */
export class Unusable extends Error {}

const next = "An admin of the team can bring back last night's copy of the datasets.";

export const unusable = (why: string) => new Unusable(`The team's warehouse cannot be used: ${why}. ${next}`);
