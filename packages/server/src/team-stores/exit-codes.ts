/** How a child says that the store is at fault, and not the child. */
export const unusableExit = 3;
