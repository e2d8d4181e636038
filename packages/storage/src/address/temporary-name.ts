/** Names of files that are on their way: beside their place, and left out of listings until they are whole. */
import { randomUUID } from "node:crypto";

/** Short, whatever the name is: with all of it, a long one would be too long. */
export const temporaryName = (name: string) => `.${Array.from(name).slice(0, 8).join("")}.${randomUUID()}.part`;

const pattern = /^\..{0,8}\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.part$/su;

export const isTemporaryName = (name: string) => pattern.test(name);
