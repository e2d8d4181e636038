/** Exit code of a child process when the warehouse is at fault, not the child's code. */
export const unusableExit = 3;
/** Exit code when the warehouse is fine, but another process has locked it or the disk is full. */
export const busyExit = 4;
