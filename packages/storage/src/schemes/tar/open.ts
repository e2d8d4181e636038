/** The backend of `tar://`. */
import { archiveBackend } from "../../archive/backend.ts";
import type { Outer } from "../../archive/outer.ts";
import type { Backend } from "../../backend.ts";
import { readMembers } from "./directory.ts";
import { readMember } from "./read.ts";

export const open = (outer: Outer): Backend => archiveBackend({ scheme: "tar", readMembers, readMember }, outer);
