/** How a program in the child says that the warehouse is at fault: its message is for people of the team. */
export class Unusable extends Error {}

const next = "An admin of the team can bring back last night's copy of the datasets.";

export const unusable = (why: string) => new Unusable(`The team's warehouse cannot be used: ${why}. ${next}`);
