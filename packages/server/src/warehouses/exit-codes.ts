/** How a child says that the warehouse is at fault, and not the child. */
export const unusableExit = 3;
/** Nothing is wrong with the store: somebody else has it just now, or the disk is full. */
export const busyExit = 4;
