/** Opens the engines of managed clusters: each kind has its placer, and all share the rest. */
import type { OpenEngine } from "../engines/registry.ts";

export const engineOpeners: Readonly<Record<string, OpenEngine>> = {};
