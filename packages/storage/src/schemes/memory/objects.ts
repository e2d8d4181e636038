/** The objects of `memory://`. */
import type { Entry } from "../../backend.ts";

export interface MemoryObject {
  readonly bytes: Uint8Array;
  readonly entry: Entry;
}

export type MemoryObjects = Map<string, MemoryObject>;
