/** Names of unfinished files. Such a file lies in the folder of its target, and listings leave it out. */
import { randomUUID } from "node:crypto";

/**
 * Returns a temporary name for a file. It contains only the first 8 characters of the file's own name, because a longer
 * temporary name could exceed the file system's limit.
 */
export const temporaryName = (name: string) => `.${Array.from(name).slice(0, 8).join("")}.${randomUUID()}.part`;

const pattern = /^\..{0,8}\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.part$/su;

export const isTemporaryName = (name: string) => pattern.test(name);
